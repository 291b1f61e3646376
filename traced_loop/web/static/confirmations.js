// What a reader has chosen and typed stays when the page is brought up to date, in forms that show the same as before;
// a form is sent once.

const chosen = new Map();

function forms(root) {
  return root.querySelectorAll("form[data-digest]");
}

function remember(event) {
  const form = event.target.closest("form[data-digest]");
  if (!form || !event.target.name) return;
  const kept = chosen.get(form.dataset.digest) ?? new Map();
  kept.set(event.target.name, event.target.value);
  chosen.set(form.dataset.digest, kept);
}

function restore(root) {
  for (const form of forms(root)) {
    for (const [name, value] of chosen.get(form.dataset.digest) ?? []) {
      const field = form.elements[name];
      if (field) field.value = value;
    }
  }
}

document.addEventListener("input", remember);
document.addEventListener("change", remember);
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-digest]");
  if (!form) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});
addEventListener("pageshow", () => forms(document).forEach((form) => delete form.dataset.sent));
document.addEventListener("part-replaced", (event) => restore(event.detail));
restore(document);
