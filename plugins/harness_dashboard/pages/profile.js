/* Dolan-More performance profiles: the share of data sets on which a solver is within a factor of the best. */

import { Chart, roomFor, scale } from "./chart.js";
import { alternative, choice, legend, tick } from "./parts.js";
import { hidden } from "./store.js";
import { byName, known, text, tick as tickText } from "./units.js";

export const title = "Performance profiles";

const COSTS = { seconds: ["Time in the solver", "fit_seconds"], kernel_evaluations: ["Kernel values computed", "kernel_evaluations"] };

/* Ratio to the best solver for every data set; Infinity where the target was not reached. */
export function ratios(cells, solvers, datasets) {
  const found = new Map(solvers.map((solver) => [solver, []]));
  for (const dataset of datasets) {
    const costs = solvers.map((solver) => cells.get(`${solver}\n${dataset}`) ?? Infinity);
    const best = Math.min(...costs);
    if (!Number.isFinite(best)) continue; // nobody reached it: says nothing of anybody
    solvers.forEach((solver, i) => found.get(solver).push(Number.isFinite(costs[i]) ? Math.max(costs[i], 1e-12) / Math.max(best, 1e-12) : Infinity));
  }
  return found;
}

export function draw({ rows, solvers, index, look, values, places }) {
  const formulations = d3.rollups(rows.filter((row) => row.seconds_to), (found) => found.length, (row) => row.formulation ?? "").sort((a, b) => b[1] - a[1]);
  const formulation = formulations.some(([name]) => name === values.get("problem")) ? values.get("problem") : formulations[0]?.[0];
  const asked = rows.filter((row) => (row.formulation ?? "") === formulation); // solvers of other problems would only be noise
  const certified = asked.filter((row) => row.seconds_to);
  if (!certified.length) return places.empty("No run of this choice has a certified gap; traces are kept for the newest measurement of each cell.");
  const cost = values.get("cost") === "kernel_evaluations" ? "kernel_evaluations" : "seconds";
  const usual = d3.max([0, 1, 2], (i) => (certified.some((row) => known(row[`${cost}_to`]?.[i])) ? i : 0));
  const target = Math.min(index.targets.length - 1, Math.max(0, Number(values.get("target") ?? usual)));
  places.controls.append(
    choice("Problem", "problem", formulations.map(([name, cells]) => [name, `${name || "unknown"} (${cells} cells)`]), formulation),
    choice("Certified relative gap at most", "target", index.targets.map((value, i) => [String(i), tickText(value, "gap")]), String(target)),
    choice("Cost", "cost", Object.entries(COSTS).map(([name, [label]]) => [name, label]), cost),
  );
  legend(places.legend, look, solvers, new Set(certified.map((row) => row.solver)));
  const off = hidden();
  const reached = new Map(), run = new Map();
  const blind = new Set();
  for (const row of certified.filter((each) => !off.has(each.solver))) {
    const spent = row[`${cost}_to`];
    const observable = cost === "seconds" || (known(row.kernel_evaluations) && !row.at_least) || !row.fit_seconds;
    if (!observable) { blind.add(row.solver); continue; }
    if (!run.has(row.solver)) run.set(row.solver, new Set());
    run.get(row.solver).add(row.dataset);
    if (spent && known(spent[target])) reached.set(`${row.solver}\n${row.dataset}`, spent[target]);
  }
  // A run that failed before there was a gap is a run that did not reach it.
  for (const row of asked) if (run.has(row.solver) && row.ran) run.get(row.solver).add(row.dataset);
  const shown = [...run.keys()].sort(byName);
  const all = [...new Set([...run.values()].flatMap((names) => [...names]))];
  const both = all.filter((dataset) => shown.every((solver) => run.get(solver).has(dataset)));
  const common = values.has("common") ? values.get("common") !== "0" : both.length * 2 >= all.length;
  places.controls.append(tick("only data sets that every shown solver was run on", "common", common));
  const used = common ? both : all;
  const found = ratios(reached, shown, used);
  const number = found.size ? found.values().next().value.length : 0;
  places.note.append(` ${number} data sets, of ${all.length} in all; never certified that good counts as not solved${common ? "" : ", and so does not run"}.`,
    blind.size ? ` Kernel values of ${[...blind].join(", ")} are not observable.` : "");
  if (!number) {
    return places.empty(common && both.length < all.length
      ? "There is no data set that every shown solver was run on and any brought below the target: switch solvers off, or take all data sets."
      : "No solver that is switched on was certified that good; take a larger gap.");
  }
  return paint(places, found, { look, number, label: COSTS[cost][0] });
}

function paint(places, found, { look, number, label }) {
  const solvers = [...found.keys()];
  const finite = [...found.values()].flat().filter(Number.isFinite);
  const chart = new Chart(places.figure, { height: Math.max(440, 90 + 14 * Math.min(solvers.length, 40)), right: roomFor(solvers), label: `Performance profiles by ${label}` });
  const { left, right, top, bottom } = chart.box;
  const most = Math.max(2, ...finite) * 1.3;
  const x = d3.scaleLog([1, most], [left, right]);
  const y = scale([0, 1], false, [bottom, top], { whole: true }).domain([0, 1.02]);
  chart.axes(x, y, { x: `${label} as a multiple of the best`, y: "Share of data sets" }, { x: "ratio", y: "share" });
  const rows = [];
  const ends = [];
  for (const solver of solvers) {
    const sorted = found.get(solver).filter(Number.isFinite).sort(d3.ascending);
    const path = [[x(1), y(0)]];
    const corners = [];
    sorted.forEach((value, i) => {
      path.push([x(value), path.at(-1)[1]], [x(value), y((i + 1) / number)]);
      if (sorted[i + 1] !== value) corners.push([value, (i + 1) / number]);
    });
    path.push([right, path.at(-1)[1]]);
    if (sorted[0] === 1) path.splice(0, 2);
    chart.curve(path, look, solver);
    for (const [ratio, share] of corners.length ? corners : [[1, 0]]) {
      chart.point({
        x: x(ratio), y: y(share), area: 40, solver, look, data: { x: ratio, y: share },
        told: [solver, `within ${text(ratio, "ratio")} of the best on ${text(share, "share")} of ${number} data sets`],
      });
    }
    ends.push({ x: right - 4, y: path.at(-1)[1], solver, rank: sorted.length });
    rows.push({ solver, best: sorted.filter((value) => value === 1).length / number, solved: sorted.length / number, half: sorted.length * 2 >= number ? sorted[Math.ceil(number / 2) - 1] : null });
  }
  chart.ends(ends.sort((a, b) => b.rank - a.rank));
  places.below.replaceChildren(alternative([
    { title: "Solver", value: (row) => row.solver },
    { title: "Best on", value: (row) => row.best, cell: (row) => text(row.best, "share") },
    { title: "Reached the target on", value: (row) => row.solved, cell: (row) => text(row.solved, "share") },
    { title: "Factor for half of the data sets", value: (row) => row.half, cell: (row) => text(row.half, "ratio") },
  ], rows.sort((a, b) => b.best - a.best)));
  return chart.points.length;
}
