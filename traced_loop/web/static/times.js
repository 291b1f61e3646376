// Moments in the reader's own zone (the exact UTC stays on hover), and how long something goes on by now.

// The reader's own way to write the page's language, as en-GB for en.
const language = document.documentElement.lang;
const locale = navigator.languages.find((each) => each.split("-")[0] === language) ?? language;
const SECONDS = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" };
const format = new Intl.DateTimeFormat(locale, SECONDS);
const exact = new Intl.DateTimeFormat(locale, { ...SECONDS, fractionalSecondDigits: 3 });

export function localise(root) {
  for (const element of root.querySelectorAll("time[data-local]")) {
    const moment = new Date(element.dateTime);
    if (!Number.isNaN(moment.getTime())) element.textContent = (element.dataset.local === "exact" ? exact : format).format(moment);
  }
  tick(root);
}

function lasting(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

function tick(root) {
  for (const element of root.querySelectorAll("[data-since]")) {
    element.textContent = lasting(Date.now() - Number(element.dataset.since));
  }
  for (const bar of root.querySelectorAll("meter[data-begun]")) {
    bar.value = Math.min(1, (Date.now() - Number(bar.dataset.begun)) / Number(bar.dataset.limit));
  }
}

localise(document);
setInterval(() => tick(document), 1000);
