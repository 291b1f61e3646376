// Buttons that copy: a text of their own (data-copy), or what an address of this server answers (data-copy-from). What
// came of it stands on the button for a moment, and is said to who hears the page.

const SHOWN_MS = 2000;
const said = document.getElementById("copied");

async function textOf(button) {
  if (button.dataset.copy !== undefined) return button.dataset.copy;
  const answer = await fetch(button.dataset.copyFrom);
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.text();
}

function tell(button, word) {
  button.dataset.label ??= button.textContent;
  button.textContent = said.textContent = word;
  setTimeout(() => { button.textContent = button.dataset.label; }, SHOWN_MS);
}

async function copy(button) {
  said.textContent = "";
  try {
    const text = textOf(button).then((found) => new Blob([found], { type: "text/plain" }));
    // A promise, not its value: some browsers take nothing that comes later than the click.
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": text })]);
    tell(button, said.dataset.done);
  } catch {
    tell(button, said.dataset.failed);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  if (button) copy(button);
});
if (navigator.clipboard) document.documentElement.classList.add("copies");
