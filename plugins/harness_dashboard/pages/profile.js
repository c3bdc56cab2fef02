/* Performance profiles: the share of problems on which a solver is within a factor of the best (Dolan and Moré). */

import { Chart, roomFor, scale } from "./chart.js";
import { clockNote } from "./figures.js";
import { alternative, choice, legend, plain } from "./parts.js";
import { formulationsOf, hidden } from "./store.js";
import { known, text, tick } from "./units.js";

export const title = "Profiles";

const COSTS = { seconds: "Time", kernel_evaluations: "Kernel evaluations" };

/* Ratios to the best solver, one for every problem that any brought to the target: Infinity where the
   solver did not get there. */
export function ratios(rows, solvers, { cost, target }) {
  const problems = d3.groups(rows, (row) => row.dataset).map(([, own]) => ({ own, best: d3.least(own.filter((row) => known(row[cost]?.[target])), (row) => row[cost][target]) }));
  const solved = problems.filter(({ best }) => best);
  return new Map(solvers.map((solver) => [solver, solved.map(({ own, best }) => {
    const row = own.find((each) => each.solver === solver);
    if (!row || !known(row[cost]?.[target])) return Infinity;
    return Math.max(row[cost][target], 1e-12) / Math.max(best[cost][target], 1e-12);
  })]));
}

/* The corners of a solver's step function: [ratio, share] at each ratio of its own that is finite. */
export const corners = (values) => [...new Set(values.filter(Number.isFinite))].sort(d3.ascending).map((value) => [value, values.filter((each) => each <= value).length / values.length]);

export function draw({ rows, solvers, targets, look, values, places }) {
  const formulations = formulationsOf(rows);
  if (!formulations.length) return places.empty("No run of this choice has a certified gap.");
  const formulation = formulations.some(([name]) => name === values.get("problem")) ? values.get("problem") : formulations[0][0];
  const asked = rows.filter((row) => row.ran && (row.formulation ?? "") === formulation); // solvers of other problems would only be noise
  const cost = values.get("cost") === "kernel_evaluations" ? "kernel_evaluations" : "seconds";
  const usual = d3.max([0, 1, 2], (i) => (asked.some((row) => known(row[`${cost}_to`]?.[i])) ? i : 0));
  const target = Object.hasOwn(targets, values.get("target") ?? "") ? Number(values.get("target")) : usual;
  places.controls.append(
    choice("Problem", "problem", formulations.map(([name, cells]) => [name, `${name || "unknown"} (${cells} cells)`]), formulation),
    choice("Certified relative gap at most", "target", targets.map((value, i) => [String(i), tick(value, "gap")]), String(target)),
    choice("Cost", "cost", Object.entries(COSTS), cost),
  );
  const unseen = (row) => cost === "kernel_evaluations" && row.measured && (row.at_least || !known(row.kernel_evaluations));
  const blind = new Set(asked.filter(unseen).map((row) => row.solver));
  const off = hidden();
  const present = solvers.filter((name) => asked.some((row) => row.solver === name) && !blind.has(name));
  legend(places.legend, look, solvers, new Set(present));
  const shown = present.filter((name) => !off.has(name));
  const own = asked.filter((row) => shown.includes(row.solver));
  const common = d3.groups(own, (row) => row.dataset).filter(([, cells]) => cells.length === shown.length).flatMap(([, cells]) => cells);
  const found = ratios(common, shown, { cost: `${cost}_to`, target });
  const number = found.size ? [...found.values()][0].length : 0;
  places.note.append(` ${number} problems on which every shown solver was run; never certified that good counts as not solved.`,
    cost === "seconds" ? clockNote(asked, "trace_clock") : "", blind.size ? ` Kernel evaluations of ${[...blind].map(plain).join(", ")} are not observable.` : "");
  if (!number) return places.empty("There is no problem that every shown solver was run on and any brought to the target: switch solvers off, or take a larger gap.");
  const chart = new Chart(places.figure, { height: Math.max(440, 90 + 14 * Math.min(shown.length, 40)), right: roomFor(shown.map(plain)), label: `Performance profiles by ${COSTS[cost]}` });
  const { left, right, top, bottom } = chart.box;
  const x = d3.scaleLog([1, Math.max(2, ...[...found.values()].flat().filter(Number.isFinite)) * 1.3], [left, right]);
  const y = scale([0, 1], false, [bottom, top], { whole: true }).domain([0, 1.02]);
  chart.axes(x, y, { x: `${COSTS[cost]} as a multiple of the best`, y: "Share of problems" }, { x: "ratio", y: "share" });
  const lines = shown.map((solver) => ({ solver, points: corners(found.get(solver)) }));
  const ends = lines.map(({ solver, points }) => {
    const path = [[x(1), y(points[0]?.[0] === 1 ? points[0][1] : 0)]];
    for (const [value, height] of points) path.push([x(value), path.at(-1)[1]], [x(value), y(height)]);
    chart.curve([...path, [right, path.at(-1)[1]]], look, solver);
    for (const [value, height] of points.length ? points : [[1, 0]]) {
      const told = `${value === 1 ? "the best" : `within ${text(value, "ratio")} of the best`} on ${text(height, "share")} of ${number} problems`;
      chart.point({ x: x(value), y: y(height), area: 40, solver, look, data: { x: value, y: height }, told: [plain(solver), told] });
    }
    return { x: right - 4, y: path.at(-1)[1], solver, solved: points.at(-1)?.[1] ?? 0 };
  });
  chart.ends(ends.sort((a, b) => b.solved - a.solved));
  places.below.append(alternative([
    { title: "Solver", value: (line) => line.solver },
    { title: "Best on", value: ({ points }) => (points[0]?.[0] === 1 ? points[0][1] : 0), cell: ({ points }) => text(points[0]?.[0] === 1 ? points[0][1] : 0, "share") },
    { title: "Reached the target on", value: ({ points }) => points.at(-1)?.[1] ?? 0, cell: ({ points }) => text(points.at(-1)?.[1] ?? 0, "share") },
    { title: "Factor for half of the problems", value: ({ points }) => points.find(([, height]) => height >= 0.5)?.[0] ?? null, cell: ({ points }) => text(points.find(([, height]) => height >= 0.5)?.[0], "ratio") },
  ], lines));
  return chart.points.length;
}
