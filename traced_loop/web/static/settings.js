// Language and colours count as soon as they are chosen. The keyboard stays where it is, also when the page is loaded
// again for its other language.

const FOCUS = "traced-loop-settings-focus";
const form = document.querySelector("form.settings");

const focused = sessionStorage.getItem(FOCUS);
sessionStorage.removeItem(FOCUS);
if (focused) form?.elements.namedItem(focused)?.focus();

form?.addEventListener("change", async (event) => {
  const chosen = event.target;
  const body = new URLSearchParams(new FormData(form));
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body, redirect: "manual" });
    if (answer.type !== "opaqueredirect") throw new Error("refused");
  } catch {
    form.submit(); // the page that says why
    return;
  }
  if (chosen.name === "theme") {
    document.documentElement.dataset.theme = chosen.value;
  } else {
    sessionStorage.setItem(FOCUS, chosen.name);
    location.reload();
  }
});
