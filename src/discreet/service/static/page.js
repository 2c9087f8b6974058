// A little help, not needed: a rating is saved without a new page, and the list beside it follows;
// what was looked for is kept in the browser's history, never in an address.
"use strict";

const said = document.getElementById("said");

function say(text) {
  said.textContent = text;
  said.classList.add("shown");
  clearTimeout(say.timer);
  say.timer = setTimeout(() => said.classList.remove("shown"), 4000);
}

// A part of a page in answer to a form; null if there is none, and why was said.
async function part(action, fields) {
  const answer = await fetch(action, { method: "POST", headers: { "X-Part": "yes" }, body: fields });
  if (answer.status === 401) {
    location.assign("/signin");
    return null;
  }
  const text = await answer.text();
  if (answer.ok) return new DOMParser().parseFromString(text, "text/html");
  say(reason(text));
  return null;
}

async function save(form, button) {
  const parts = await part("/rate", new URLSearchParams(new FormData(form, button)));
  if (!parts) return;
  const card = parts.querySelector("li.card");
  form.closest("li.card").replaceWith(card);
  document.getElementById("picks").replaceWith(parts.getElementById("picks"));
  card.querySelector("button").focus({ preventScroll: true });
  const title = card.querySelector("h3").textContent;
  say(button.value === "delete" ? `Your rating of ${title} is deleted.`
    : `Saved: ${title}.`);
}

async function search(fields) {
  const parts = await part("/rate/search", fields);
  if (!parts) return false;
  document.getElementById("found").replaceWith(parts.getElementById("found"));
  document.getElementById("q").value = fields.get("q") || "";
  document.querySelector(".search input[name=mine]").checked = fields.get("mine") === "true";
  return true;
}

async function look(form, button) {
  const fields = new URLSearchParams(new FormData(form, button));
  if (!(await search(fields))) return;
  history.pushState(fields.toString(), "");
  document.getElementById("found").focus({ preventScroll: true });
  document.querySelector("form.search").scrollIntoView({ block: "nearest" });
}

function reason(text) {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return "That did not work: try again in a moment.";
  }
}

function unreachable() {
  say("The server could not be reached: nothing was changed.");
}

const helped = { "/rate": save, "/rate/search": look };
document.addEventListener("submit", (event) => {
  const help = helped[event.target.getAttribute("action")];
  if (!help || !event.submitter) return;
  event.preventDefault();
  help(event.target, event.submitter).catch(unreachable);
});

// Back and forth, and a page that is loaded again: the browser remembers what was looked for.
const looking = document.querySelector("form.search");
if (looking) {
  const again = (state) => search(new URLSearchParams(state)).catch(unreachable);
  if (typeof history.state === "string") again(history.state);
  else history.replaceState(new URLSearchParams(new FormData(looking)).toString(), "");
  addEventListener("popstate", (event) => {
    if (typeof event.state === "string") again(event.state);
  });
}

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
