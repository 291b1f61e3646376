// Says in a place that stays what the part that is replaced says now: readers of a screen hear only such places.

const told = document.getElementById("live-told");
let last = document.getElementById("live-says")?.textContent;

document.addEventListener("part-replaced", () => {
  const now = document.getElementById("live-says")?.textContent;
  if (now && now !== last) told.textContent = last = now;
});
