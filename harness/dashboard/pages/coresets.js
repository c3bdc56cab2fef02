/* Core-set size against 1/epsilon: the bound of the theory, and what was needed. */

import { Chart, scale } from "./chart.js";
import { alternative, choice, legend } from "./parts.js";
import { hidden, measured } from "./store.js";
import { known, text } from "./units.js";

export const title = "Core sets";

/* Variants of a solver, such as fw[epsilon=0.01] and fw[epsilon=0.001], are one curve. */
const family = (solver) => solver.replace(/\b(epsilon|eps|tol|tau|max_core)=[^,\]]*,? ?/g, "").replace(/\[\s*\]/, "").replace(/, ?\]/, "]").replace(/ \(target [^)]*\)/, "");

export function draw({ rows, solvers, look, values, places }) {
  const usable = rows.filter((row) => measured(row) && known(row.core_set_size) && row.core_set_size > 0 && known(row.epsilon) && row.epsilon > 0);
  const datasets = [...new Set(usable.map((row) => row.dataset))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
  if (!datasets.length) return places.empty("No run has a core set and a certified epsilon: they belong to hull formulations, for example: harness compare --plugins fw,gilbert --formulation l2-svc");
  const counts = d3.rollup(usable, (found) => found.length, (row) => row.dataset);
  const chosen = datasets.includes(values.get("dataset")) ? values.get("dataset") : d3.greatest(datasets, (name) => counts.get(name));
  places.controls.append(choice("Data set", "dataset", datasets.map((name) => [name, `${name} (${counts.get(name)})`]), chosen));
  const here = usable.filter((row) => row.dataset === chosen);
  legend(places.legend, look, solvers, new Set(here.map((row) => row.solver)));
  const off = hidden();
  const shown = here.filter((row) => !off.has(row.solver));
  places.note.append(" Epsilon is certified: recomputed from the model. The dotted line is size = 1/epsilon; variants of a solver are joined.");
  if (!shown.length) return places.empty("Every solver with a core set is switched off.");
  return paint(places, shown, { look, chosen });
}

function paint(places, shown, { look, chosen }) {
  const points = shown.map((row) => ({ row, solver: row.solver, x: 1 / row.epsilon, y: row.core_set_size }));
  const families = d3.groups(points, (p) => family(p.solver));
  const chart = new Chart(places.figure, { height: 480, right: 90, label: `Core-set size against 1/epsilon on ${chosen}` });
  const { left, right, top, bottom } = chart.box;
  const x = scale(points.map((p) => p.x), true, [left, right]);
  const y = scale(points.map((p) => p.y), true, [bottom, top]);
  chart.axes(x, y, { x: "1/epsilon", y: "Core-set size" }, { x: "", y: "" });
  const [low, high] = [Math.max(x.domain()[0], y.domain()[0]), Math.min(x.domain()[1], y.domain()[1])];
  if (low < high) chart.svg.append("path").attr("class", "guide").attr("d", d3.line()([[x(low), y(low)], [x(high), y(high)]]));
  for (const [, members] of families) {
    members.sort((a, b) => a.x - b.x);
    if (members.length < 2) continue;
    const path = members.map((p) => [x(p.x), y(p.y)]);
    chart.keepClear(path);
    chart.curve(path, look, members[0].solver);
  }
  for (const p of points) {
    chart.point({
      x: x(p.x), y: y(p.y), solver: p.solver, look, data: { dataset: chosen, x: p.x, y: p.y },
      told: [p.solver, `Core-set size: ${text(p.y, "")}`, `Epsilon: ${text(p.row.epsilon, "gap")} (1/epsilon ${text(p.x, "")})`, `Support vectors: ${text(p.row.support_vectors, "")}`],
    });
  }
  chart.labels(chart.points);
  places.below.replaceChildren(alternative([
    { title: "Solver", value: (p) => p.solver },
    { title: "Core-set size", value: (p) => p.y, cell: (p) => text(p.y, "") },
    { title: "Epsilon", value: (p) => p.row.epsilon, cell: (p) => text(p.row.epsilon, "gap") },
    { title: "1/epsilon", value: (p) => p.x, cell: (p) => text(p.x, "") },
  ], points));
  return points.length;
}
