/* How the time to a target grows with the number of points or of dimensions. */

import { Chart, roomFor, scale } from "./chart.js";
import { clockNote } from "./figures.js";
import { alternative, breakable, choice, legend, make, plain, table } from "./parts.js";
import { formulationsOf, hidden, interval, unit } from "./store.js";
import { known, text, tick } from "./units.js";

export const title = "Scaling";

const AXES = { n_train: "Points, n", n_features: "Dimensions, d" };
const FEW = 5; // solvers whose exponents a sentence has room for

/* The fits of one view: solver -> its line. */
function linesOf(ranking, all, { axis, formulation, family, target }) {
  return new Map(ranking.scaling.filter((fit) => fit.axis === axis && fit.formulation === formulation && fit.family === family && fit.target === target)
    .map((fit) => [all[fit.solver], fit]));
}

const exponent = (fit) => (fit ? `${fit.exponent[0].toFixed(2)} (${fit.exponent[1].toFixed(2)} to ${fit.exponent[2].toFixed(2)})` : "–");

/* Draw the points and lines of some solvers into a place; returns how many points there are. */
export function paintScaling(place, rows, ranking, { solvers, all, look, targets, target, axis, formulation, family = null, height = 420 }) {
  const at = targets.indexOf(ranking.targets[target]);
  const points = rows.filter((row) => solvers.includes(row.solver) && known(row[axis]) && row[axis] > 0 && known(row.seconds_to?.[at]) && (family === null || unit(row) === family))
    .map((row) => ({ row, x: row[axis], y: row.seconds_to[at], within: interval(row, "seconds_to", at) }));
  const letter = axis === "n_train" ? "n" : "d";
  if (new Set(points.map((point) => point.x)).size < 2) {
    place.replaceChildren(make("p", { class: "empty" }, points.length ? `Every data set here has the same ${letter}: nothing is known of growth.` : "No solver here was certified at this gap."));
    return 0;
  }
  const lines = linesOf(ranking, all, { axis, formulation, family, target });
  const chart = new Chart(place, { height, right: roomFor(solvers.map(plain)), label: `Time to a certified gap of ${tick(ranking.targets[target], "gap")} against ${letter}` });
  const { left, right, top, bottom } = chart.box;
  const x = scale(points.map((point) => point.x), true, [left, right]);
  const on = (fit, size) => Math.exp(fit.intercept) * size ** fit.exponent[0];
  const drawn = solvers.map((solver) => lines.get(solver)).filter(Boolean);
  const y = scale([...points.flatMap((point) => [point.y, ...point.within.filter(Number.isFinite)]), ...drawn.flatMap((fit) => fit.sizes.map((size) => on(fit, size)))], true, [bottom, top]);
  chart.axes(x, y, { x: AXES[axis], y: `Time to a gap of ${tick(ranking.targets[target], "gap")}` }, { x: "", y: "s" });
  const ends = [];
  for (const solver of solvers) {
    const fit = lines.get(solver);
    if (!fit) continue;
    const [from, to] = fit.sizes.map((size) => [x(size), y(on(fit, size))]);
    chart.curve([from, to], look, solver).attr("data-exponent", fit.exponent[0]);
    ends.push({ x: to[0], y: to[1], solver });
  }
  for (const { row, x: size, y: spent, within } of points) {
    const high = Number.isFinite(within[1]) ? within[1] : spent;
    if (within[0] < high) chart.bar([x(size), y(within[0])], [x(size), y(high)], look, row.solver);
    chart.point({
      x: x(size), y: y(spent), area: 48, solver: row.solver, look, data: { dataset: row.dataset, x: size, y: spent },
      told: [plain(row.solver), row.dataset, `n = ${text(row.n_train, "")}, d = ${text(row.n_features, "")}`, `${text(spent, "s")}${within[0] < high ? ` (${text(within[0], "s")} to ${text(high, "s")})` : ""}`],
    });
  }
  chart.ends(ends);
  const over = family === null ? "over all data sets, easy and hard ones together" : `over the sizes of ${family} alone`;
  place.append(make("p", { class: "soft" }, ends.length
    ? `Time grows as ${letter} to the power ${ends.length <= FEW ? ends.map(({ solver }) => `${exponent(lines.get(solver))} of ${plain(solver)}`).join(", ") : "that the table has for each solver"}: ${over}; least squares in logarithms, 95 % intervals.`
    : `No line: fewer than three ${letter === "n" ? "sizes" : "dimensions"} were brought to this gap by one solver${formulation ? "" : ", or problems are mixed"}.`));
  place.append(alternative([
    { title: "Solver", value: ({ row }) => row.solver },
    { title: "Data set", value: ({ row }) => row.dataset },
    { title: "Points", value: ({ row }) => row.n_train, cell: ({ row }) => text(row.n_train, "") },
    { title: "Dimensions", value: ({ row }) => row.n_features, cell: ({ row }) => text(row.n_features, "") },
    { title: "Time to the gap", value: (point) => point.y, cell: (point) => text(point.y, "s") },
    { title: "Exponent of the solver", value: ({ row }) => lines.get(row.solver)?.exponent[0] ?? null, cell: ({ row }) => exponent(lines.get(row.solver)) },
  ], points, "scaling"));
  return chart.points.length;
}

export function draw({ rows, solvers, ranking, targets, look, values, places }) {
  const certified = rows.filter((row) => row.seconds_to);
  const formulations = formulationsOf(rows);
  if (!formulations.length) return places.empty("No run of this choice has a certified gap, so there is no time to a target.");
  const formulation = formulations.some(([name]) => name === values.get("problem")) ? values.get("problem") : formulations[0][0];
  const axis = Object.hasOwn(AXES, values.get("axis") ?? "") ? values.get("axis") : "n_train";
  const wanted = Number(values.get("gap") ?? 1);
  const target = Object.hasOwn(ranking.targets, wanted) ? wanted : 1;
  const here = certified.filter((row) => (row.formulation ?? "") === formulation);
  const families = [...new Set(ranking.scaling.filter((fit) => fit.axis === axis && fit.formulation === formulation && fit.family !== null).map((fit) => fit.family))];
  const family = families.includes(values.get("family")) ? values.get("family") : null;
  places.controls.append(
    choice("Problem", "problem", formulations.map(([name, cells]) => [name, `${name || "unknown"} (${cells} cells)`]), formulation),
    choice("Against", "axis", Object.entries(AXES), axis),
    choice("Certified gap at most", "gap", ranking.targets.map((value, i) => [String(i), tick(value, "gap")]), String(target)),
    choice("Data sets", "family", [["", "all"], ...families.map((name) => [name, `${name}, its sizes alone`])], family ?? ""),
  );
  legend(places.legend, look, solvers, new Set(here.map((row) => row.solver)));
  const off = hidden();
  const shown = solvers.filter((name) => !off.has(name) && here.some((row) => row.solver === name));
  const marks = paintScaling(places.figure, here, ranking, { solvers: shown, all: solvers, look, targets: targets, target, axis, formulation, family, height: Math.max(480, 90 + 14 * Math.min(shown.length, 40)) });
  const lines = [...linesOf(ranking, solvers, { axis, formulation, family, target }).entries()].filter(([solver]) => shown.includes(solver));
  if (lines.length) {
    places.below.append(make("h2", {}, "Exponents"), table([
      { title: "Solver", value: ([solver]) => solver, cell: ([solver]) => breakable(plain(solver)), attributes: ([solver]) => ({ "data-solver": solver }) },
      { title: "Exponent", value: ([, fit]) => fit.exponent[0], cell: ([, fit]) => exponent(fit) },
      { title: "Points", note: "of the line", value: ([, fit]) => fit.points },
      { title: axis === "n_train" ? "Sizes" : "Dimensions", value: ([, fit]) => fit.sizes[0], cell: ([, fit]) => fit.sizes.map((size) => text(size, "")).join(" to ") },
    ], d3.sort(lines, ([, fit]) => fit.exponent[0]), { label: "Exponents of growth", name: "exponents" }));
  }
  places.note.append(" A point is a data set; a line is fitted where a solver reached the gap at three sizes or more.", clockNote(here, "trace_clock"));
  return marks;
}
