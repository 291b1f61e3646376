// Keeps a page up to date: told by server-sent events that something changed, it asks for the page again and puts the
// new parts in the places of the old ones, where they differ. What the reader has opened, focused and scrolled stays.

import { localise } from "./times.js";

const PART = "[data-live][id]";
const QUIET_MS = 300;
const state = document.getElementById("live-state");
let stamp = document.body.dataset.stamp;
let source = null;
let asked = null;
let again = false;

function kept(part) {
  const opened = new Map();
  for (const element of part.querySelectorAll("details[id]")) opened.set(element.id, element.open);
  const active = document.activeElement;
  return { opened, focus: active && part.contains(active) ? active.id : "" };
}

function restore(part, { opened, focus }) {
  for (const [id, open] of opened) {
    const element = document.getElementById(id);
    if (element) element.open = open;
  }
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
}

// Puts a part of another page in the place of an old one; what is opened and focused in it stays.
export function exchange(old, part) {
  const before = kept(old);
  const placed = document.importNode(part, true);
  old.replaceWith(placed);
  localise(placed);
  restore(placed, before);
  document.dispatchEvent(new CustomEvent("part-replaced", { detail: placed }));
}

function replace(fresh) {
  for (const old of document.querySelectorAll(PART)) {
    const part = fresh.getElementById(old.id);
    if (part && part.dataset.live !== old.dataset.live) exchange(old, part);
  }
}

async function refresh() {
  asked = null;
  let answer;
  try {
    answer = await fetch(location.href, { headers: { accept: "text/html" } });
  } catch {
    return; // the stream tells whether the server is there
  }
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  replace(fresh);
}

function later() {
  if (asked === null) {
    asked = setTimeout(async () => {
      await refresh();
      if (again) { again = false; later(); }
    }, QUIET_MS);
  } else {
    again = true;
  }
}

function watch() {
  if (source || document.hidden) return;
  const query = new URLSearchParams({ since: stamp, watch: document.body.dataset.watch });
  source = new EventSource(`/changes?${query}`);
  source.addEventListener("open", () => { state.textContent = ""; });
  source.addEventListener("changed", (event) => { stamp = event.data; later(); });
  source.addEventListener("error", () => { state.textContent = state.dataset.lost; });
}

function rest() {
  source?.close();
  source = null;
}

// A browser has few connections to one server: a page that nobody looks at gives its own up.
document.addEventListener("visibilitychange", () => (document.hidden ? rest() : watch()));
addEventListener("pagehide", rest);
addEventListener("pageshow", watch);
watch();
