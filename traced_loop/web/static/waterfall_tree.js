// The rows of the waterfall as a tree: which are loaded, which are shut, and in what order they stand. Rows that the
// reader has asked for stay when the page is brought up to date.

export class Tree {
  constructor() {
    this.rows = new Map(); // by handle
    this.shut = new Set(); // handles whose rows below are hidden
    this.body = null;
    this.moreText = "";
  }

  /** Take over a new table; rows of the one before that it lacks stay, at their place and on their scale. */
  adopt(body, moreText, length) {
    const before = this.body === null ? new Map() : this.rows;
    const rescaled = this.length ? this.length / length : 1;
    this.body = body;
    this.moreText = moreText;
    this.length = length;
    this.rows = new Map();
    for (const row of body.querySelectorAll("tr.wf-row")) this.rows.set(row.dataset.handle, row);
    const stay = [];
    for (const [handle, row] of before) {
      if (this.rows.has(handle) || (row.dataset.parent && !this.rows.has(row.dataset.parent))) continue;
      row.style.setProperty("--scale", Number(row.style.getPropertyValue("--scale") || 1) * rescaled);
      this.rows.set(handle, row);
      stay.push(row);
    }
    this.moved = stay.length > 0;
    this.arrange();
    return stay;
  }

  /** Put more rows in; of one that is there already, the new one counts. */
  add(rows) {
    for (const row of rows) this.rows.set(row.dataset.handle, document.importNode(row, true));
    this.moved = true;
    this.arrange();
  }

  children(handle) {
    return this.below.get(handle) ?? [];
  }

  isOpen(row) {
    return this.children(row.dataset.handle).length > 0 && !this.shut.has(row.dataset.handle);
  }

  /** Whether a row has children of which none was loaded. */
  isUnloaded(row) {
    return Number(row.dataset.children) > 0 && this.children(row.dataset.handle).length === 0;
  }

  above(row) {
    return this.rows.get(row.dataset.parent);
  }

  /** Open all above a row. */
  reveal(row) {
    for (let at = this.above(row); at; at = this.above(at)) this.shut.delete(at.dataset.handle);
    this.arrange();
  }

  /** Order, hide and mark all rows anew, and say where some are left out. */
  arrange() {
    this.below = new Map();
    for (const row of this.rows.values()) {
      const parent = row.dataset.parent;
      if (!this.below.has(parent)) this.below.set(parent, []);
      this.below.get(parent).push(row);
    }
    for (const rows of this.below.values()) rows.sort((a, b) => a.dataset.place - b.dataset.place);
    const order = [];
    const waiting = [[this.children("")[Symbol.iterator](), { next: 0, hidden: false, parent: "", last: null }]];
    while (waiting.length) {
      const [rows, at] = waiting[waiting.length - 1];
      const { value: row, done } = rows.next();
      if (done) {
        if (at.last) this.#leftOut(order, at, Number(at.last.getAttribute("aria-setsize")), at.last);
        waiting.pop();
        continue;
      }
      this.#leftOut(order, at, Number(row.dataset.place), row);
      at.next = Number(row.dataset.place) + 1;
      at.last = row;
      row.hidden = at.hidden;
      order.push(row);
      const handle = row.dataset.handle;
      if (Number(row.dataset.children) > 0) row.setAttribute("aria-expanded", String(this.isOpen(row)));
      if (this.children(handle).length) {
        const hidden = at.hidden || this.shut.has(handle);
        waiting.push([this.children(handle)[Symbol.iterator](), { next: 0, hidden, parent: handle, last: null }]);
      }
    }
    this.#place(order);
  }

  #place(order) {
    const there = this.body.rows;
    const same = there.length === order.length && order.every((row, n) => row === there[n]);
    if (!same) this.body.replaceChildren(...order);
  }

  #leftOut(order, at, upto, beside) {
    if (upto <= at.next) return;
    const key = `${at.parent} ${at.next} ${upto}`;
    const known = this.mores?.get(key);
    const row = known ?? this.#more(at, upto, beside);
    this.mores = (this.mores ?? new Map()).set(key, row);
    row.hidden = at.hidden;
    order.push(row);
    at.next = upto;
  }

  #more(at, upto, beside) {
    const row = document.createElement("tr");
    row.className = "wf-more";
    row.setAttribute("role", "row");
    row.setAttribute("aria-level", beside.getAttribute("aria-level"));
    Object.assign(row.dataset, { parent: at.parent, first: at.next, last: upto });
    const cell = row.insertCell();
    cell.setAttribute("role", "gridcell");
    cell.colSpan = 3;
    cell.className = [...beside.cells[0].classList].find((name) => /^d\d+$/.test(name)) ?? "d0";
    const link = document.createElement("a");
    link.href = beside.querySelector("a.wf-title").href;
    link.textContent = this.moreText.replace("{count}", String(upto - at.next));
    cell.append(link);
    return row;
  }
}
