// One message at a time: back, forward, by itself, or all of them. Without this script all stand there in their order.

const controls = document.getElementById("lesson-controls");
const parts = [...document.querySelectorAll("#lesson > li")];
const at = document.getElementById("step-at");
const button = (name) => document.getElementById(`step-${name}`);
const EACH_MS = 4000;
let shown = 1;
let playing = null;

function show(number, { scroll = true } = {}) {
  shown = Math.min(Math.max(number, 1), parts.length);
  parts.forEach((part, index) => {
    part.hidden = index >= shown;
    part.classList.toggle("current", index === shown - 1);
  });
  const current = parts[shown - 1];
  at.textContent = at.dataset.at
    .replace("{number}", shown).replace("{count}", parts.length).replace("{name}", current.dataset.name);
  disable(button("back"), shown === 1);
  disable(button("forward"), shown === parts.length);
  disable(button("all"), shown === parts.length);
  if (shown === parts.length) pause();
  if (scroll) current.scrollIntoView({ block: "nearest" });
}

// Kept in the order of the keyboard: a button that vanishes from it takes the reader's place along.
function disable(element, isOff) {
  element.setAttribute("aria-disabled", String(isOff));
}

function pause() {
  clearInterval(playing);
  playing = null;
  button("play").textContent = button("play").dataset.play;
}

function play() {
  if (shown === parts.length) show(1);
  playing = setInterval(() => show(shown + 1), EACH_MS);
  button("play").textContent = button("play").dataset.pause;
}

button("back").addEventListener("click", () => { pause(); show(shown - 1); });
button("forward").addEventListener("click", () => { pause(); show(shown + 1); });
button("all").addEventListener("click", () => { pause(); show(parts.length, { scroll: false }); });
button("play").addEventListener("click", () => (playing === null ? play() : pause()));
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest("input, select, textarea, pre")) return;
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  pause();
  show(shown + by);
});

controls.hidden = false;
document.getElementById("step-keys").hidden = false;
show(1, { scroll: false });
