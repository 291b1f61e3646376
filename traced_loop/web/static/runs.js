// The form of the list of runs: addresses without empty fields, and times in the reader's own zone. Without this script
// the form works the same, and its times are those of the machine that serves the page.

const form = document.getElementById("filter-form");
const zone = document.getElementById("f-zone");
const times = [form.elements.namedItem("from"), form.elements.namedItem("to")];
const own = Intl.DateTimeFormat().resolvedOptions().timeZone;

// A time that the address already has was read in the zone that it names: only where there is none is one's own meant.
if (own && !zone.value && times.every((field) => !field.value)) {
  zone.value = own;
  document.getElementById("zone-said").textContent = zone.dataset.said.replace("{zone}", own);
}

form.addEventListener("submit", () => {
  const needless = (field) => !field.value || (field === zone && times.every((time) => !time.value));
  const left = [...form.elements].filter((field) => field.name && (needless(field) || isUsual(field)));
  for (const field of left) field.disabled = true;
  // The page may be shown again as it was, out of the browser's memory.
  addEventListener("pagehide", () => left.forEach((field) => { field.disabled = false; }), { once: true });
});

function isUsual(field) {
  return field.name === "sort" && field.value === "-started";
}
