// A little help, not needed: a rating is saved without a new page, and the list beside it follows.
"use strict";

const said = document.getElementById("said");

function say(text) {
  said.textContent = text;
  said.classList.add("shown");
  clearTimeout(say.timer);
  say.timer = setTimeout(() => said.classList.remove("shown"), 4000);
}

async function save(form, button) {
  const fields = new URLSearchParams(new FormData(form, button));
  const answer = await fetch(form.getAttribute("action"), {
    method: "POST",
    headers: { "X-Part": "yes" },
    body: fields,
  });
  if (answer.status === 401) {
    location.assign("/signin");
    return;
  }
  const text = await answer.text();
  if (!answer.ok) {
    say(reason(text));
    return;
  }
  const parts = new DOMParser().parseFromString(text, "text/html");
  const card = parts.querySelector("li.card");
  card.querySelector("input[name=back]").value = fields.get("back");
  form.closest("li.card").replaceWith(card);
  document.getElementById("picks").replaceWith(parts.getElementById("picks"));
  card.querySelector("button").focus({ preventScroll: true });
  const title = card.querySelector("h3").textContent;
  say(button.value === "delete" ? `Your rating of ${title} is deleted.`
    : `Saved: ${title}.`);
}

function reason(text) {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return "That did not work: try again in a moment.";
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form.rating") || !event.submitter) return;
  event.preventDefault();
  save(form, event.submitter).catch(() => say("The server could not be reached: nothing was saved."));
});

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).value);
    say("Copied.");
  });
}

for (const field of document.querySelectorAll("[data-select]")) {
  field.addEventListener("focus", () => field.select());
}

// A link like /signin#TOKEN fills the form: what follows # is never sent to the server.
function fillToken() {
  const token = document.querySelector("form[action='/signin'] input[name=token]");
  if (!token || location.hash.length < 2) return;
  token.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}
addEventListener("hashchange", fillToken);
fillToken();

async function watch() {
  const shown = document.getElementById("publication");
  if (!shown || shown.dataset.state !== "running") return;
  const answer = await fetch("/operator/publication");
  if (!answer.ok) return;
  const parts = new DOMParser().parseFromString(await answer.text(), "text/html");
  const now = parts.getElementById("publication");
  if (now.dataset.state !== "running") location.replace("/operator");
  else setTimeout(watch, 1500);
}
setTimeout(watch, 1000);
