// Arcs at the left edge from a row to the one that it refers to. Where that one is not shown, the arc ends at the next
// row above it that is, and is dotted.

const NS = "http://www.w3.org/2000/svg";
const MOST = 300;

export function drawArcs(root, tree) {
  const layer = root.querySelector("#wf-arcs");
  if (!layer) return;
  const top = layer.getBoundingClientRect().top;
  const room = layer.clientWidth - 4;
  const middle = (row) => {
    const box = row.getBoundingClientRect();
    return box.height ? box.top - top + Math.min(13, box.height / 2) : null;
  };
  const paths = [];
  for (const link of tree.body.querySelectorAll("a.wf-link")) {
    if (paths.length >= MOST) break;
    const row = link.closest("tr");
    const from = middle(row);
    if (from === null) continue;
    const [target, isAway] = shown(tree, link.dataset.target);
    const to = target === null || target === row ? null : middle(target);
    if (to === null) continue;
    const out = Math.max(2, room - 6 - Math.min(room - 8, Math.log2(1 + Math.abs(to - from) / 12) * 4));
    const path = document.createElementNS(NS, "path");
    const tip = `M${room - 4} ${to - 3}L${room} ${to}L${room - 4} ${to + 3}`;
    path.setAttribute("d", `M${room} ${from}C${out} ${from} ${out} ${to} ${room} ${to}${tip}`);
    path.setAttribute("class", isAway ? `${link.dataset.kind} away` : link.dataset.kind);
    path.dataset.from = row.dataset.handle;
    path.dataset.to = link.dataset.target;
    paths.push(path);
  }
  layer.replaceChildren(...paths);
}

function shown(tree, handle) {
  let row = tree.rows.get(handle);
  const isAway = !row || row.hidden;
  while (row && row.hidden) row = tree.above(row);
  return [row ?? null, isAway];
}
