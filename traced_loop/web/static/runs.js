// The form of the list of runs: addresses without empty fields, and times in the reader's own zone, which an address has
// as UTC. Without this script the form works the same, and its times are those of the machine that serves the page.

const form = document.getElementById("filter-form");
const times = [form.elements.namedItem("from"), form.elements.namedItem("to")];
const said = document.getElementById("zone-said");
said.textContent = said.dataset.said.replace("{zone}", Intl.DateTimeFormat().resolvedOptions().timeZone);

function asPicked(field) {
  const moment = new Date(field.value);
  if (field.hasAttribute("aria-invalid") || !field.value || Number.isNaN(moment.getTime())) return;
  const local = new Date(moment.getTime() - moment.getTimezoneOffset() * 60000);
  field.defaultValue = field.value = ""; // what a field of another type holds is complained of on the console
  field.type = "datetime-local";
  field.step = "1"; // else a browser takes whole minutes only
  field.value = local.toISOString().slice(0, 19);
}

function asWritten(field) {
  const moment = new Date(field.value);
  if (field.type !== "datetime-local" || !field.value || Number.isNaN(moment.getTime())) return;
  field.type = "text";
  field.value = moment.toISOString().replace(".000Z", "Z");
}

// A time that the address has without a zone is one of the serving machine, and stays it until the reader changes it.
const own = new Set(times.filter((field) => !field.value || /Z$|[+-]\d\d:?\d\d$/.test(field.value)));
own.forEach(asPicked);
for (const field of times) field.addEventListener("input", () => own.add(field));

form.addEventListener("submit", () => {
  const left = [...form.elements].filter((field) => field.name && (!field.value || isUsual(field)));
  own.forEach(asWritten);
  for (const field of left) field.disabled = true;
  // The page may be shown again as it was, out of the browser's memory.
  addEventListener("pagehide", () => {
    for (const field of left) field.disabled = false;
    own.forEach(asPicked);
  }, { once: true });
});

function isUsual(field) {
  return field.name === "sort" && field.value === "-started";
}
