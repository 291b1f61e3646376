// The page of one run: what is loaded after the first view or when it is opened, and jumps to spans.

import { exchange } from "./live.js";

const messages = document.getElementById("messages-open");

// Takes a part out of another page of this server and puts it in the place of its own; what is open in it stays so.
async function load(id) {
  const old = document.getElementById(id);
  const address = old?.dataset.load;
  if (!address) return;
  let answer;
  try {
    answer = await fetch(address, { headers: { accept: "text/html" } });
  } catch {
    return; // the link in it stays
  }
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(id);
  const now = document.getElementById(id);
  if (!fresh || !now?.dataset.load) return;
  fresh.dataset.load = address;
  exchange(now, fresh);
}

function loadWanted() {
  load("findings-body");
  if (messages?.open) load("messages-body");
}

messages?.addEventListener("toggle", () => { if (messages.open) load("messages-body"); });
document.addEventListener("part-replaced", ({ detail }) => {
  if (detail.id === "run-news") loadWanted();
  else if (detail.id === "findings-body" && detail.querySelector(":scope > .empty a")) load("findings-body");
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a.jump");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  // The same jump again is one, too: whoever listens opens and focuses the span.
  if (location.hash === link.hash) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = link.hash;
});

loadWanted();
