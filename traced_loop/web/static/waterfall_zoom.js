// Which part of the run's time the bars show, and the ruler over it. Bars are drawn in parts of the whole; to show a
// part of it, the table has the variables --zoom and --from, so that nothing of the rows is drawn anew.

const MOST = 5000;
const SMALL = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const LARGE = [[86400, "d"], [3600, "h"], [60, "min"]];
const STEPS = [];
for (let power = 0; power < 9; power += 1) for (const factor of [1, 2, 5]) STEPS.push(factor * 10 ** power);
for (const unit of [1e9, 60e9]) for (const factor of [1, 2, 5, 10, 15, 30]) STEPS.push(factor * unit);
for (const factor of [1, 2, 3, 6, 12]) STEPS.push(factor * 3600e9);
for (let power = 0; power < 7; power += 1) for (const factor of [1, 2, 5]) STEPS.push(factor * 10 ** power * 86400e9);

export function timeText(nanoseconds) {
  let seconds = Math.floor(nanoseconds / 1e9);
  const rest = Math.round(nanoseconds - seconds * 1e9);
  const parts = [];
  for (const [unit, name] of LARGE) {
    const count = Math.floor(seconds / unit);
    seconds -= count * unit;
    if (count) parts.push(`${count} ${name}`);
  }
  const small = seconds * 1e9 + rest;
  if (small && parts.length) parts.push(`${Number((small / 1e9).toPrecision(12))} s`);
  else if (small) {
    const [unit, name] = SMALL.find((pair) => pair[0] <= small) ?? [1, "ns"];
    parts.push(`${Number((small / unit).toPrecision(12))} ${name}`);
  }
  return parts.join(" ") || "0";
}

export class Zoom {
  constructor() {
    this.from = 0;
    this.to = 1;
    this.grown = 1;
  }

  adopt(root) {
    this.root = root;
    this.ruler = root.querySelector("#wf-ruler");
    this.pieces = JSON.parse(root.dataset.axis);
    this.length = Number(root.dataset.length);
    this.drawn = [...this.ruler.children];
    this.said = "";
    this.grow();
  }

  get isWhole() {
    return this.from === 0 && this.to === 1;
  }

  /** A run that goes on lasts longer than when its bars were drawn: they take a smaller part of the width. */
  grow() {
    const { start, now } = this.root.dataset;
    this.grown = now ? (now - start) / Math.max(now - start, Date.now() - start) || 1 : 1;
    this.show();
  }

  set(from, to) {
    const width = Math.min(1, Math.max(1 / MOST, to - from));
    this.from = Math.min(1 - width, Math.max(0, from));
    this.to = this.from + width;
    if (width > 0.999) [this.from, this.to] = [0, 1];
    this.show();
  }

  by(factor, at = 0.5) {
    const width = this.to - this.from;
    const fixed = this.from + at * width;
    this.set(fixed - at * width * factor, fixed + (1 - at) * width * factor);
  }

  move(share) {
    const by = share * (this.to - this.from);
    const from = Math.min(1 - (this.to - this.from), Math.max(0, this.from + by));
    this.set(from, from + this.to - this.from);
  }

  show() {
    const { style, dataset } = this.root;
    style.setProperty("--zoom", 1 / (this.to - this.from));
    style.setProperty("--from", this.from);
    style.setProperty("--grown", this.grown);
    dataset.from = this.from.toFixed(6);
    dataset.to = this.to.toFixed(6);
    if (this.isWhole && this.grown === 1) this.ruler.replaceChildren(...this.drawn);
    else this.#ticks();
    const text = this.isWhole ? "" : `${timeText(this.#time(this.from))} – ${timeText(this.#time(this.to))}`;
    if (text === this.said) return; // what else is said there stays
    this.said = text;
    this.root.querySelector("#wf-window").textContent = text;
  }

  /** The axis now: the last piece has grown, the others keep their times. */
  #axis() {
    const last = this.pieces.length - 1;
    return this.pieces.map(([start, end, left, right], n) => {
      if (n < last) return [start, end, left * this.grown, right * this.grown];
      const rate = (end - start) / (right - left);
      return [start, end + (1 / this.grown - 1) * rate, left * this.grown, 1];
    });
  }

  #time(share) {
    const axis = this.#axis();
    const [start, end, left, right] = axis.find((piece) => share <= piece[3]) ?? axis[axis.length - 1];
    return start + (Math.max(0, share - left) / (right - left || 1)) * (end - start);
  }

  #ticks() {
    const width = this.to - this.from;
    const pieces = this.#axis();
    const most = Math.max(3, Math.min(8, Math.floor(this.ruler.clientWidth / 90)));
    const shown = Math.max(1, this.#time(this.to) - this.#time(this.from));
    const step = STEPS.find((found) => shown <= found * most) ?? STEPS[STEPS.length - 1];
    const parts = [];
    for (const [start, end, left, right] of pieces) {
      const first = Math.max(start, this.#time(this.from));
      const last = Math.min(end, this.#time(this.to));
      for (let moment = Math.ceil(first / step) * step; moment <= last && parts.length < 40; moment += step) {
        const share = left + ((moment - start) / (end - start || 1)) * (right - left);
        parts.push(...mark(((share - this.from) / width) * 100, timeText(moment)));
      }
    }
    this.ruler.replaceChildren(...parts);
  }
}

function mark(percent, text) {
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [name, value] of Object.entries({ x1: `${percent}%`, x2: `${percent}%`, y1: 14, y2: 22 })) line.setAttribute(name, value);
  const label = document.createElementNS("http://www.w3.org/2000/svg", "text");
  for (const [name, value] of Object.entries({ x: `${percent}%`, dx: 3, y: 12 })) label.setAttribute(name, value);
  label.textContent = text;
  return percent < 94 ? [line, label] : [line]; // a text at the edge would be cut off
}
