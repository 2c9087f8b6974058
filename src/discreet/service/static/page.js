// A little help, not needed: a tap is saved without a new page, and the list follows; what was
// looked for is kept in the browser's history, never in an address.
"use strict";

const said = document.getElementById("said");
const dialog = document.getElementById("dialog");

// A sentence, or a part of a page with something to undo.
function say(what) {
  said.replaceChildren(...(typeof what === "string" ? [what] : what.childNodes));
  said.classList.add("shown");
  clearTimeout(say.timer);
  say.timer = setTimeout(() => said.classList.remove("shown"), 8000);
}

// A part of a page; null if there is none, and why was said.
async function part(address, fields) {
  const sent = fields ? { method: "POST", body: fields } : {};
  const answer = await fetch(address, { ...sent, headers: { "X-Part": "yes" } });
  if (answer.status === 401) {
    location.assign("/signin");
    return null;
  }
  const text = await answer.text();
  if (answer.ok) return new DOMParser().parseFromString(text, "text/html");
  say(reason(text));
  return null;
}

// All places that show an item get its new look; the focus stays where it was.
function show(changed) {
  const name = changed.dataset.item;
  const kind = changed.className.split(" ")[0];
  for (const old of document.querySelectorAll(`.${kind}[data-item="${CSS.escape(name)}"]`)) {
    const copy = changed.cloneNode(true);
    if (old.id) copy.id = old.id;
    const held = old.contains(document.activeElement) ? document.activeElement : null;
    old.replaceWith(copy);
    if (held) again(copy, held)?.focus({ preventScroll: true });
    rove(copy);
  }
}

function again(inside, held) {
  if (held.name === undefined) return null;
  const same = `[name="${held.name}"][value="${held.value}"]`;
  return inside.querySelector(same) || inside.querySelector("button");
}

// Where a form goes: its button may know better.
function action(form, button) {
  return button?.getAttribute("formaction") ?? form.getAttribute("action");
}

async function tap(form, button) {
  const place = form.closest("section.shelf");
  const goal = action(form, button);
  const parts = await part(goal, new URLSearchParams(new FormData(form, button)));
  if (!parts) return;
  const changed = parts.querySelector(".card, .panel");
  const hidden = goal === "/hide" && button?.name !== "hidden" && form.closest(".card");
  if (hidden) hidden.hidden = true;
  else show(changed);
  if (dialog?.open) dialog.close();
  follow(parts, place);
  say(parts.getElementById("said"));
}

// The list follows a rating, unless the tap was in it: nothing moves away under a finger.
function follow(parts, place) {
  const [old, now] = [document, parts].map((where) => where.getElementById("for-you"));
  const count = parts.getElementById("count");
  const progress = document.querySelector("progress.begin");
  if (progress && count) progress.value = count.value;
  if (!old || !now || place === old) return;
  old.replaceWith(now);
  rove(document);
}

async function open(link) {
  const place = link.dataset.panel;
  const parts = await part(`${link.getAttribute("href").split("#")[0]}/level?place=${place}`);
  if (!parts) return;
  dialog.lastElementChild.replaceChildren(...parts.body.childNodes);
  rove(dialog);
  if (!dialog.open) dialog.showModal();
}

// Of two searches under way the later one counts, whichever is answered first.
async function search(fields) {
  const turn = (search.turn = (search.turn ?? 0) + 1);
  // Before the answer: what is typed while one waits for it stays.
  for (const field of document.querySelectorAll("form.search [name]:not([type=hidden])")) {
    const wanted = fields.get(field.name);
    if (wanted !== null) field.value = wanted;
  }
  const parts = await part("/browse", fields);
  if (!parts || turn !== search.turn) return false;
  document.getElementById("found").replaceWith(parts.getElementById("found"));
  rove(document);
  return true;
}

async function look(form, button) {
  const fields = new URLSearchParams(new FormData(form, button));
  if (!document.getElementById("found")) {
    form.submit(button);
    return;
  }
  if (!(await search(fields))) return;
  history.pushState(fields.toString(), "");
  document.getElementById("found").focus({ preventScroll: true });
  document.querySelector("form.search").scrollIntoView({ block: "nearest" });
}

function reason(text) {
  try {
    const { message } = JSON.parse(text).error;
    return message[0].toUpperCase() + message.slice(1);
  } catch {
    return "That did not work: try again in a moment.";
  }
}

function unreachable() {
  say("The server could not be reached: nothing was changed.");
}

const helped = { "/rate": tap, "/hide": tap, "/undo": tap, "/browse": look };
document.addEventListener("submit", (event) => {
  const help = helped[action(event.target, event.submitter)];
  if (!help || (help === look && !document.getElementById("found"))) return;
  event.preventDefault();
  help(event.target, event.submitter).catch(unreachable);
});

// Another level of what is rated, or another filter, counts as soon as it is chosen.
document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (!form) return;
  const button = form.querySelector("button.unscripted");
  if (event.target.name === "epsilon" && button) form.requestSubmit(button);
  if (event.target.matches("form.search select")) form.requestSubmit();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-panel]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open(link).catch(unreachable);
});

// A shelf goes on by as much as is seen of it; at its ends a button has nothing more to show.
function turn(row) {
  const most = row.scrollWidth - row.clientWidth - 1;
  const [back, on] = row.closest(".shelf").querySelectorAll(".arrows button");
  if (!on) return;
  back.disabled = row.scrollLeft < 1;
  on.disabled = row.scrollLeft >= most;
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-by]");
  const row = button?.closest(".shelf").querySelector(".row");
  row?.scrollBy({ left: button.dataset.by * row.clientWidth * 0.85 });
});
document.addEventListener("scroll", ({ target }) => target.matches?.(".row") && turn(target), true);

// One stop for all stars of an item: arrows choose among them.
function rove(inside) {
  for (const row of inside.querySelectorAll(".shelf .row")) turn(row);
  for (const group of inside.querySelectorAll(".stars")) {
    const stars = [...group.children];
    const chosen = group.querySelector("[aria-pressed]") || stars[0];
    for (const star of stars) star.tabIndex = star === chosen ? 0 : -1;
  }
}
document.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
  const star = step && event.target.closest(".stars button");
  const next = star && (step > 0 ? star.nextElementSibling : star.previousElementSibling);
  if (!star) return;
  event.preventDefault();
  next?.focus();
});
rove(document);

// Back and forth, and a page that is loaded again: the browser remembers what was looked for.
const looking = document.querySelector("form.search[action='/browse']");
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
  shown.replaceWith(now);
  setTimeout(watch, 1000);
}
setTimeout(watch, 1000);
