/* Core-set size against 1/epsilon: the bound of the theory, and what was needed. */

import { Chart, scale } from "./chart.js";
import { ends } from "./figures.js";
import { alternative, choice, legend } from "./parts.js";
import { hidden, load } from "./store.js";
import { settings, sweeps, written } from "./sweep.js";
import { byName, known, range, text } from "./units.js";

export const title = "Core sets";

const LEAST = 1e-8; // a smaller epsilon is rounding, and would stretch the axis

/* The way of a solver's newest run: how many points had a coefficient when epsilon was certified. */
async function ways(latest, place, dataset) {
  const number = latest.datasets.indexOf(dataset);
  if (number < 0) return new Map();
  const { columns, solvers } = await load(`${place.latest.trace}${number}.json`);
  const [epsilon, size] = [columns.indexOf("epsilon"), columns.indexOf("support_vectors")];
  return new Map(Object.entries(solvers).map(([solver, points]) => [solver,
    points.filter((p) => known(p[epsilon]) && p[epsilon] > 0 && p[size] > 0).map((p) => ({ x: 1 / Math.max(p[epsilon], LEAST), y: p[size] }))]));
}

export async function draw({ rows, solvers, look, values, places, latest, place, newest, still }) {
  const usable = rows.filter((row) => row.measured && known(row.support_vectors) && row.support_vectors > 0 && known(row.epsilon) && row.epsilon > 0);
  const datasets = [...new Set(usable.map((row) => row.dataset))].sort(byName);
  if (!datasets.length) return places.empty("No run has a core set and a certified epsilon: they belong to hull formulations, for example: harness compare --plugins fw,gilbert --formulation l2-svc");
  const counts = d3.rollup(usable, (found) => found.length, (row) => row.dataset);
  const chosen = datasets.includes(values.get("dataset")) ? values.get("dataset") : d3.greatest(datasets, (name) => counts.get(name));
  const traces = newest ? await ways(latest, place, chosen) : new Map();
  if (!still()) return null;
  places.controls.append(choice("Data set", "dataset", datasets.map((name) => [name, `${name} (${counts.get(name)})`]), chosen));
  const here = usable.filter((row) => row.dataset === chosen);
  legend(places.legend, look, solvers, new Set(here.map((row) => row.solver)));
  const off = hidden();
  const shown = here.filter((row) => !off.has(row.solver));
  places.note.append(" Epsilon is certified: recomputed from the model. Large marks: core sets of finished runs, a solver's sweep over a parameter joined; small marks: the points with a coefficient on the way. The dotted line is size = 1/epsilon.");
  if (!shown.length) return places.empty("Every solver with a core set is switched off.");
  return paint(places, shown, { look, chosen, traces });
}

function paint(places, shown, { look, chosen, traces }) {
  const points = shown.map((row) => ({ row, solver: row.solver, x: 1 / Math.max(row.epsilon, LEAST), y: row.support_vectors }));
  const way = points.flatMap((p) => (traces.get(p.solver) ?? []).map((step) => ({ ...step, solver: p.solver })));
  const everything = [...points, ...way];
  const base = new Map(shown.map((row) => [row.solver, row.base]));
  const chart = new Chart(places.figure, { height: 480, right: 90, label: `Core-set size against 1/epsilon on ${chosen}`, family: (solver) => base.get(solver) });
  const { left, right, top, bottom } = chart.box;
  const x = scale(everything.map((p) => p.x), true, [left, right]);
  const y = scale(everything.map((p) => p.y), true, [bottom, top]);
  chart.axes(x, y, { x: "1/epsilon", y: "Core-set size" }, { x: "", y: "" });
  const [low, high] = [Math.max(x.domain()[0], y.domain()[0]), Math.min(x.domain()[1], y.domain()[1])];
  if (low < high) chart.svg.append("path").attr("class", "guide").attr("d", d3.line()([[x(low), y(low)], [x(high), y(high)]]));
  const told = new Map();
  for (const { by, points: members } of sweeps(points)) {
    const path = members.map((p) => [x(p.x), y(p.y)]);
    chart.keepClear(path);
    chart.curve(path, look, members[0].solver);
    members.forEach((p) => told.set(p, `${by}=${written(settings(p.row)[by])}`));
  }
  for (const [solver, steps] of d3.groups(way, (p) => p.solver)) {
    const path = steps.map((p) => [x(p.x), y(p.y)]);
    chart.keepClear(path);
    chart.curve(path, look, solver).attr("stroke-opacity", 0.45);
    for (const p of steps) {
      chart.point({
        x: x(p.x), y: y(p.y), area: 18, solver, look, data: { dataset: chosen, x: p.x, y: p.y },
        told: [solver, "on the way", `Points with a coefficient: ${text(p.y, "")}`, `1/epsilon: ${text(p.x, "")}`],
      });
    }
  }
  const first = chart.points.length;
  for (const p of points) {
    const [across, along] = [ends(p.row, "epsilon")?.map((epsilon) => 1 / Math.max(epsilon, LEAST)), ends(p.row, "support_vectors")];
    if (across) chart.bar([x(across[1]), y(p.y)], [x(across[0]), y(p.y)], look, p.solver);
    if (along && along[0] > 0) chart.bar([x(p.x), y(along[0])], [x(p.x), y(along[1])], look, p.solver);
    chart.point({
      x: x(p.x), y: y(p.y), area: 90, solver: p.solver, look, data: { dataset: chosen, x: p.x, y: p.y },
      told: [p.solver, ...(told.has(p) ? [told.get(p)] : []), `Core-set size: ${text(p.y, "")}${along ? ` (${range(along, "")})` : ""}`, `Epsilon: ${text(p.row.epsilon, "gap")} (1/epsilon ${text(p.x, "")})`],
    });
  }
  chart.labels(chart.points.slice(first));
  places.below.replaceChildren(alternative([
    { title: "Solver", value: (p) => p.solver },
    { title: "Mark", value: (p) => (p.row ? "finished" : "on the way") },
    { title: "Core-set size", value: (p) => p.y, cell: (p) => text(p.y, "") },
    { title: "Epsilon", value: (p) => (p.row ? p.row.epsilon : 1 / p.x), cell: (p) => text(p.row ? p.row.epsilon : 1 / p.x, "gap") },
    { title: "1/epsilon", value: (p) => p.x, cell: (p) => text(p.x, "") },
  ], everything));
  return chart.points.length;
}
