// What is stored of one span, beside the waterfall. It stands outside of the part that is replaced, so that it stays.

import { localise } from "./times.js";

/** What the page shows of a row stays in its place while something makes the page wider or narrower. */
function steady(row, change) {
  const before = row?.getBoundingClientRect().top;
  change();
  if (before === undefined) return;
  scrollBy({ top: row.getBoundingClientRect().top - before, behavior: "instant" });
}

/** A row that lies under the panel, where that takes the whole width, comes out from under it. */
function uncover(row, panel) {
  if (!row) return;
  const box = row.getBoundingClientRect();
  const over = panel.getBoundingClientRect();
  if (over.left > box.left || box.bottom <= over.top || box.top >= over.bottom) return;
  scrollBy({ top: box.bottom - over.top, behavior: "instant" });
}

export class Panel {
  constructor({ jump }) {
    this.element = null;
    this.handle = null;
    this.jump = jump;
  }

  get isOpen() {
    return this.element !== null;
  }

  async open(root, handle, { focus = true } = {}) {
    this.texts = root.dataset;
    this.handle = handle;
    const run = encodeURIComponent(root.dataset.run);
    const answer = await fetch(`/runs/${run}/spans/${encodeURIComponent(handle)}?part=1`).catch(() => null);
    if (this.handle !== handle) return; // another one was asked for meanwhile
    const page = new DOMParser().parseFromString(answer?.ok ? await answer.text() : "", "text/html");
    const details = page.querySelector(".wf-details");
    const row = document.getElementById(`span-${handle}`);
    if (this.element === null) steady(row, () => this.#make(root));
    this.heading.textContent = details?.dataset.title ?? row?.querySelector(".wf-title")?.textContent ?? handle;
    this.content.replaceChildren(details ? document.importNode(details, true) : root.dataset.failed);
    localise(this.content);
    if (focus) this.heading.focus({ preventScroll: true });
    uncover(row, this.element);
  }

  close() {
    const handle = this.handle;
    steady(document.getElementById(`span-${handle}`), () => this.element?.remove());
    this.element = this.handle = null;
    return handle;
  }

  #make(root) {
    this.element = document.createElement("aside");
    this.element.className = "wf-panel";
    this.element.setAttribute("aria-label", root.dataset.details);
    const header = document.createElement("header");
    this.heading = document.createElement("h2");
    this.heading.tabIndex = -1;
    this.heading.className = "theirs";
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = root.dataset.close;
    button.addEventListener("click", () => this.element.dispatchEvent(new CustomEvent("wf-close", { bubbles: true })));
    header.append(this.heading, button);
    this.content = document.createElement("div");
    this.element.append(header, this.content);
    this.element.addEventListener("click", (event) => this.#follow(event, root));
    document.querySelector("main").append(this.element);
  }

  #follow(event, root) {
    const link = event.target.closest("a[data-span], a[data-jump]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.dataset.span) this.open(root, link.dataset.span);
    else this.jump(link.dataset.jump);
  }
}
