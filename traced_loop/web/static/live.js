// Keeps a page up to date: told that something changed, it asks for the page again and puts the new parts in the places
// of the old ones, where they differ. What the reader has opened, typed, selected, focused and scrolled stays.

import { localise } from "./times.js";

const PART = "[data-live][id]";
const QUIET_MS = 300;
const POLL_MS = 2000;
const SILENT_MS = 25000; // the server says every ten seconds that it is still there
// A browser has six connections to one server, for all its windows: so many of them have a stream, the others ask.
const STREAMS = 3;
const FOCUSABLE = ["A", "BUTTON", "INPUT", "SELECT", "TEXTAREA", "SUMMARY"];

const state = document.getElementById("live-state");
const watch = document.body.dataset.watch;
let stamp = document.body.dataset.stamp; // of what is shown
let told = stamp; // of what there is
let planned = null;
let took = 0;
let heldBack = false;
let leave = null;

function say(word) {
  const text = word ? state.dataset[word] : "";
  if (state.textContent !== text) state.textContent = text;
}

function pause(milliseconds, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
  });
}

// --- the parts -------------------------------------------------------------------------------------------------------

function isSelected(part) {
  const selection = getSelection();
  return selection.rangeCount > 0 && !selection.isCollapsed && selection.getRangeAt(0).intersectsNode(part);
}

function address(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const href = element.getAttribute("href");
  return href && `${element.localName}[href="${CSS.escape(href)}"]`;
}

function kept(part) {
  const before = { opened: new Map(), typed: new Map(), scrolled: [], focus: null, range: null };
  for (const details of part.querySelectorAll("details[id]")) before.opened.set(details.id, details.open);
  for (const field of part.querySelectorAll("input[id], textarea[id], select[id]")) {
    before.typed.set(field.id, [field.value, field.checked, field.defaultValue]);
  }
  for (const box of [part, ...part.querySelectorAll(".scroll, pre")]) before.scrolled.push([box.scrollLeft, box.scrollTop]);
  const active = document.activeElement;
  if (active && part.contains(active) && (FOCUSABLE.includes(active.tagName) || active.hasAttribute("tabindex"))) {
    before.focus = address(active);
    try {
      before.range = [active.selectionStart, active.selectionEnd];
    } catch { /* a field without a cursor */ }
  }
  return before;
}

function restore(part, before) {
  for (const [id, open] of before.opened) {
    const details = document.getElementById(id);
    if (details) details.open = open;
  }
  for (const [id, [value, checked, was]] of before.typed) {
    const field = document.getElementById(id);
    if (!field || (was !== undefined && value === was && field.checked === checked)) continue;
    if (field.type === "checkbox" || field.type === "radio") field.checked = checked;
    else if (field.type !== "hidden" && field.type !== "file") field.value = value;
  }
  const boxes = [part, ...part.querySelectorAll(".scroll, pre")];
  if (boxes.length === before.scrolled.length) {
    boxes.forEach((box, place) => { [box.scrollLeft, box.scrollTop] = before.scrolled[place]; });
  }
  const focused = before.focus && part.parentNode.querySelector(before.focus);
  if (focused) {
    focused.focus({ preventScroll: true });
    if (before.range?.[0] != null) focused.setSelectionRange(...before.range);
  }
}

// What the reader looks at, by its id: it stays in its place when what is above it grows.
function anchor() {
  if (scrollY === 0) return null;
  for (const part of document.querySelectorAll(PART)) {
    if (part.getBoundingClientRect().bottom < 0) continue;
    for (const element of part.querySelectorAll("[id]")) {
      const { top, bottom } = element.getBoundingClientRect();
      if (bottom > 0) return top < innerHeight ? { id: element.id, top } : null;
    }
  }
  return null;
}

function replace(fresh) {
  heldBack = false;
  const before = anchor();
  for (const old of document.querySelectorAll(PART)) {
    const part = fresh.getElementById(old.id);
    if (!part || part.dataset.live === old.dataset.live || !old.isConnected) continue;
    if (isSelected(old)) {
      heldBack = true; // until nothing of it is selected any more
      continue;
    }
    const was = kept(old);
    const placed = document.importNode(part, true);
    old.replaceWith(placed);
    localise(placed);
    restore(placed, was);
    document.dispatchEvent(new CustomEvent("part-replaced", { detail: placed }));
  }
  const after = before && document.getElementById(before.id);
  if (after) scrollBy({ top: after.getBoundingClientRect().top - before.top, behavior: "instant" });
}

async function refresh() {
  const began = performance.now();
  const wanted = told;
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  const text = await answer.text();
  if (answer.status === 404) {
    stamp = wanted;
    say("gone");
    return;
  }
  if (!answer.ok) {
    say(answer.status === 401 ? "session" : "failed");
    throw new Error("no page");
  }
  const fresh = new DOMParser().parseFromString(text, "text/html");
  stamp = fresh.body.dataset.stamp ?? wanted;
  replace(fresh);
  say("");
  took = performance.now() - began;
}

// A page that is long to make is asked for less often.
function later(wait = Math.max(QUIET_MS, 2 * took)) {
  planned ??= setTimeout(async () => {
    const wanted = told;
    let failed = false;
    try {
      await refresh();
    } catch {
      failed = true;
    }
    planned = null;
    if (failed && leave) later(POLL_MS);
    else if (told !== wanted && told !== stamp) later();
  }, wait);
}

function changed(now) {
  told = now;
  if (now !== stamp) later();
}

// --- being told ------------------------------------------------------------------------------------------------------

function stream(signal) {
  return new Promise((done) => {
    const source = new EventSource(`/changes?${new URLSearchParams({ since: stamp, watch })}`);
    let heard = Date.now();
    const hear = () => { heard = Date.now(); };
    const end = () => { clearInterval(watchdog); source.close(); done(); };
    // After a laptop has slept, or behind a tunnel, a stream can be dead without a word.
    const watchdog = setInterval(() => { if (Date.now() - heard > SILENT_MS) end(); }, 1000);
    signal.addEventListener("abort", end, { once: true });
    source.addEventListener("open", () => { hear(); say(""); });
    source.addEventListener("here", hear);
    source.addEventListener("changed", (event) => { hear(); changed(event.data); });
    source.addEventListener("error", end);
  });
}

async function ask(signal) {
  let answer;
  try {
    answer = await fetch(`/changes/now?${new URLSearchParams({ watch })}`, { signal });
    if (answer.ok) changed(await answer.text());
  } catch {
    if (!signal.aborted) say("lost");
    return;
  }
  if (answer.ok) say("");
  else say(answer.status === 401 ? "session" : "failed");
}

async function inPlace(act) {
  if (!navigator.locks) return act();
  for (let place = 0; place < STREAMS; place += 1) {
    let held = false;
    await navigator.locks.request(`traced-loop-stream-${place}`, { ifAvailable: true }, async (lock) => {
      held = lock !== null;
      if (held) await act();
    });
    if (held) return undefined;
  }
  return undefined;
}

async function look(signal) {
  while (!signal.aborted) {
    await inPlace(() => stream(signal));
    if (signal.aborted) return;
    await ask(signal);
    await pause(POLL_MS, signal);
  }
}

function begin() {
  if (leave || document.hidden) return;
  const looking = new AbortController();
  leave = () => { looking.abort(); leave = null; };
  look(looking.signal);
}

// A page that nobody looks at gives its connection up.
document.addEventListener("visibilitychange", () => (document.hidden ? leave?.() : begin()));
document.addEventListener("selectionchange", () => { if (heldBack) later(); });
addEventListener("pagehide", () => leave?.());
addEventListener("pageshow", begin);
begin();
