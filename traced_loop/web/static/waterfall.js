// The waterfall under the reader's hands: keys, the mouse, what is open, zoomed and chosen. All of that is kept by the
// handles of spans, so that it stays when the page is brought up to date.

import { localise } from "./times.js";
import { drawArcs } from "./waterfall_arcs.js";
import { Panel } from "./waterfall_panel.js";
import { Tree } from "./waterfall_tree.js";
import { Zoom } from "./waterfall_zoom.js";

const tree = new Tree();
const zoom = new Zoom();
const panel = new Panel({ jump });
const state = { current: null, onlyPath: false, find: "", dragged: false };
let root = null;

// Rows

const rowOf = (element) => element.closest?.("tr.wf-row, tr.wf-more") ?? null;
const isSeen = (row) => row && !row.hidden && row.getClientRects().length > 0;

function enter(row, { focus = true } = {}) {
  if (!row) return;
  for (const old of tree.body.querySelectorAll("tr[tabindex='0']")) settle(old, -1);
  settle(row, 0);
  state.current = row.dataset.handle ?? state.current;
  if (focus) row.focus();
}

/** One row of the table can be reached with Tab, and from there its links. */
function settle(row, tabindex) {
  row.tabIndex = tabindex;
  for (const link of row.querySelectorAll("a")) link.tabIndex = link.classList.contains("wf-link") ? tabindex : -1;
}

function settleAll() {
  for (const row of tree.body.rows) settle(row, -1);
  const current = tree.rows.get(state.current);
  const first = isSeen(current) ? current : [...tree.body.rows].find(isSeen);
  if (first) settle(first, 0);
}

function changed() {
  settleAll();
  find();
  arcs();
}

let asked = 0;
function arcs() {
  cancelAnimationFrame(asked);
  asked = requestAnimationFrame(() => root?.isConnected && drawArcs(root, tree));
}

/** Ask for rows; where they do not come, that is said. */
async function load(query) {
  const run = encodeURIComponent(root.dataset.run);
  root.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(`/runs/${run}/rows?${new URLSearchParams(query)}`);
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    localise(page);
    const focused = document.activeElement?.dataset.handle;
    tree.add(page.querySelectorAll("tr.wf-row"));
    changed();
    if (focused && document.activeElement === document.body) tree.rows.get(focused)?.focus({ preventScroll: true });
  } catch {
    root.querySelector("#wf-window").textContent = root.dataset.failed;
  } finally {
    root.removeAttribute("aria-busy");
  }
}

async function open(row) {
  tree.shut.delete(row.dataset.handle);
  if (tree.isUnloaded(row)) await load({ under: row.dataset.handle });
  tree.arrange();
  changed();
}

function shut(row) {
  tree.shut.add(row.dataset.handle);
  tree.arrange();
  changed();
}

async function more(row) {
  const { parent, first, last } = row.dataset;
  const hadFocus = row.contains(document.activeElement);
  await load({ under: parent, first, last });
  const next = tree.children(parent).find((child) => child.dataset.place === first);
  if (hadFocus && next) enter(next);
}

async function act(row) {
  if (row.classList.contains("wf-more")) await more(row);
  else await details(row);
}

async function details(row) {
  choose(row.dataset.handle);
  await panel.open(root, row.dataset.handle);
}

function choose(handle) {
  for (const old of tree.body.querySelectorAll(".chosen")) old.classList.remove("chosen");
  if (handle) tree.rows.get(handle)?.classList.add("chosen");
}

function close() {
  if (!panel.isOpen) return;
  const row = tree.rows.get(panel.close());
  choose(null);
  if (row) enter(row);
}

/** Go to a span, wherever it is; rows that are not there yet are asked for. */
async function jump(handle, { push = true } = {}) {
  if (!tree.rows.has(handle)) await load({ span: handle });
  const row = tree.rows.get(handle);
  if (!row) return void (await panel.open(root, handle));
  tree.reveal(row);
  if (state.onlyPath && !row.classList.contains("on-path")) onlyPath(false);
  changed();
  enter(row);
  row.scrollIntoView({ block: "center" });
  if (push) history.pushState(null, "", `#span-${handle}`);
}

// Everything at once

function all(level) {
  tree.shut.clear();
  for (const row of tree.rows.values()) if (level(row)) tree.shut.add(row.dataset.handle);
  tree.arrange();
  changed();
}

const steps = () => {
  const has = [...tree.rows.values()].some((row) => row.classList.contains("step"));
  all((row) => (has ? row.classList.contains("step") : row.getAttribute("aria-level") === "2"));
};

async function expandAll() {
  await load({ all: "1" });
  all(() => false);
}

function onlyPath(wanted) {
  state.onlyPath = wanted;
  root.classList.toggle("only-path", wanted);
  root.querySelector("#wf-only-path").setAttribute("aria-pressed", String(wanted));
  settleAll();
  arcs();
}

function find() {
  const wanted = state.find.trim().toLocaleLowerCase();
  root.classList.toggle("finding", wanted !== "");
  if (!wanted) return;
  let count = 0;
  for (const row of tree.rows.values()) {
    const matches = row.textContent.toLocaleLowerCase().includes(wanted);
    row.classList.toggle("match", matches);
    count += matches ? 1 : 0;
  }
  root.querySelector("#wf-window").textContent = root.dataset.found.replace("{count}", String(count));
}

/** To the next row that matches what is looked for. */
function next() {
  const rows = [...tree.rows.values()].filter((row) => row.classList.contains("match"));
  const sorted = rows.sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  const at = sorted.findIndex((row) => row.dataset.handle === state.current);
  const row = sorted[(at + 1) % sorted.length];
  if (!row) return;
  tree.reveal(row);
  changed();
  enter(row, { focus: false });
  choose(row.dataset.handle);
  row.scrollIntoView({ block: "center" });
}

// Keys

function beside(row, step) {
  const rows = [...tree.body.rows].filter(isSeen);
  return rows[rows.indexOf(row) + step];
}

const KEYS = {
  ArrowDown: (row) => enter(beside(row, 1)),
  ArrowUp: (row) => enter(beside(row, -1)),
  Home: () => enter([...tree.body.rows].find(isSeen)),
  End: () => enter([...tree.body.rows].filter(isSeen).pop()),
  PageDown: (row) => enter(beside(row, 10) ?? [...tree.body.rows].filter(isSeen).pop()),
  PageUp: (row) => enter(beside(row, -10) ?? [...tree.body.rows].find(isSeen)),
  Enter: (row) => act(row),
  " ": (row) => act(row),
  ArrowRight: async (row) => {
    if (row.getAttribute("aria-expanded") === "false") await open(row);
    else if (row.getAttribute("aria-expanded") === "true") enter(beside(row, 1));
  },
  ArrowLeft: (row) => {
    if (row.getAttribute("aria-expanded") === "true") shut(row);
    else enter(tree.above(row));
  },
  l: (row) => follow(row),
  L: (row) => follow(row),
};

function follow(row) {
  const link = row.querySelector("a.wf-link");
  if (link) jump(link.dataset.target);
}

const ZOOM_KEYS = { "+": () => zoom.by(0.5), "=": () => zoom.by(0.5), "-": () => zoom.by(2), "0": () => zoom.set(0, 1) };

async function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const row = rowOf(event.target);
  const inRow = row && event.target === row;
  const moves = event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight");
  let action = null;
  if (moves) action = () => zoom.move(event.key === "ArrowLeft" ? -0.25 : 0.25);
  else if (event.target.tagName !== "INPUT" && event.key in ZOOM_KEYS) action = ZOOM_KEYS[event.key];
  else if (inRow && event.key in KEYS) action = () => KEYS[event.key](row);
  else if (event.target.id === "wf-find" && event.key === "Enter") action = next;
  if (!action) return;
  event.preventDefault();
  await action();
}

// The mouse

function clicked(event) {
  const row = rowOf(event.target);
  if (!row || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  const link = event.target.closest("a");
  if (link?.classList.contains("wf-link")) {
    event.preventDefault();
    jump(link.dataset.target);
  } else if (link) {
    event.preventDefault();
    enter(row);
    act(row);
  } else if (event.target.closest(".wf-toggle") && row.hasAttribute("aria-expanded")) {
    enter(row);
    if (row.getAttribute("aria-expanded") === "true") shut(row);
    else open(row);
  } else if (row.classList.contains("wf-row")) {
    enter(row);
    if (event.target.closest(".wf-time") && !state.dragged) act(row);
  }
}

const share = (clip, x) => {
  const box = clip.getBoundingClientRect();
  return Math.min(1, Math.max(0, (x - box.left) / box.width));
};

function dragged(down) {
  state.dragged = false;
  const clip = down.target.closest?.(".wf-time")?.querySelector(".wf-clip");
  if (!clip || down.button !== 0 || down.pointerType === "touch") return;
  const first = share(clip, down.clientX);
  const box = document.createElement("div");
  box.className = "wf-drag";
  let last = first;
  const move = (event) => {
    last = share(clip, event.clientX);
    if (!box.isConnected && Math.abs(last - first) * clip.clientWidth > 4) clip.append(box);
    box.style.left = `${Math.min(first, last) * 100}%`;
    box.style.width = `${Math.abs(last - first) * 100}%`;
    event.preventDefault();
  };
  const up = () => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", up);
    if (!box.isConnected) return;
    box.remove();
    state.dragged = true; // the click that follows is its end
    const width = zoom.to - zoom.from;
    zoom.set(zoom.from + Math.min(first, last) * width, zoom.from + Math.max(first, last) * width);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", up);
}

function wheeled(event) {
  const clip = event.target.closest?.(".wf-time")?.querySelector(".wf-clip");
  if (!clip || !(event.ctrlKey || event.metaKey || event.shiftKey)) return;
  event.preventDefault();
  if (event.shiftKey) zoom.move(Math.sign(event.deltaY || event.deltaX) * 0.1);
  else zoom.by(event.deltaY < 0 ? 0.7 : 1 / 0.7, share(clip, event.clientX));
}

// The page

const BUTTONS = {
  "wf-expand": expandAll,
  "wf-steps": steps,
  "wf-collapse": () => all((row) => Number(row.dataset.children) > 0),
  "wf-only-path": () => onlyPath(!state.onlyPath),
  "wf-in": () => zoom.by(0.5),
  "wf-out": () => zoom.by(2),
  "wf-reset": () => zoom.set(0, 1),
};

function adopt() {
  const found = document.getElementById("wf");
  if (!found || found === root) return;
  const hadFocus = root !== null && !document.activeElement?.matches("input, button, a, select, summary, h2, tr");
  root = found;
  const body = root.querySelector("#wf-rows");
  for (const toggle of body.querySelectorAll("tr.wf-more")) toggle.remove();
  const stay = tree.adopt(body, root.dataset.more, Number(root.dataset.length));
  zoom.adopt(root);
  root.querySelector(".wf-tools").hidden = false;
  for (const [id, action] of Object.entries(BUTTONS)) root.querySelector(`#${id}`).addEventListener("click", action);
  const search = root.querySelector("#wf-find");
  search.value = state.find;
  search.addEventListener("input", () => { state.find = search.value; find(); });
  root.addEventListener("keydown", pressed);
  root.addEventListener("click", clicked);
  root.addEventListener("pointerdown", dragged);
  root.addEventListener("wheel", wheeled, { passive: false });
  new ResizeObserver(arcs).observe(root);
  onlyPath(state.onlyPath);
  changed();
  if (hadFocus && state.focused) tree.rows.get(state.current)?.focus({ preventScroll: true });
  if (panel.isOpen) {
    choose(panel.handle);
    panel.open(root, panel.handle, { focus: false });
  }
  freshen(stay);
}

/** Rows that stayed may show what is over by now: those under what still goes on are asked for again. */
function freshen(stay) {
  const parents = new Map();
  for (const row of stay) {
    if (!row.classList.contains("open") && !tree.above(row)?.classList.contains("open")) continue;
    const places = parents.get(row.dataset.parent) ?? [];
    places.push(Number(row.dataset.place));
    parents.set(row.dataset.parent, places);
  }
  for (const [under, places] of [...parents].slice(0, 5)) load({ under, first: Math.min(...places), last: Math.max(...places) + 1 });
}

function toHash() {
  const found = /^#span-(.+)$/.exec(location.hash);
  if (found && root) jump(decodeURIComponent(found[1]), { push: false });
}

document.addEventListener("part-replaced", adopt);
document.addEventListener("pointerdown", () => { state.focused = false; }, true); // a row that is clicked says so itself
document.addEventListener("focusin", (event) => {
  const row = root?.contains(event.target) ? rowOf(event.target) : null;
  state.focused = row !== null && row === event.target;
  if (state.focused) enter(row, { focus: false });
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") close();
});
document.addEventListener("wf-close", close);
// Links of other parts of the page to spans: also a second time to the same, which changes no address.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#span-']");
  if (!link || !root || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  jump(decodeURIComponent(link.hash.slice("#span-".length)));
});
addEventListener("hashchange", toHash);
setInterval(() => root?.dataset.now && root.isConnected && zoom.grow(), 1000);
adopt();
toHash();
