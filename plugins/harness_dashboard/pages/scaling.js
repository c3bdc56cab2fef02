/* How the time to a target grows with the number of points or of dimensions of one data set. */

import { Chart, roomFor, scale } from "./chart.js";
import { clockNote } from "./figures.js";
import { alternative, breakable, choice, legend, make, plain, table } from "./parts.js";
import { hidden, interval, unit } from "./store.js";
import { known, text, tick } from "./units.js";

export const title = "Scaling";

const AXES = { n_train: "Points, n", n_features: "Dimensions, d" };

const exponent = (fit) => (fit ? `${fit.exponent[0].toFixed(2)} (${fit.exponent[1].toFixed(2)} to ${fit.exponent[2].toFixed(2)})` : "–");
const keyOf = (fit) => [fit.family, fit.formulation, fit.axis].join("\n");

export function draw({ rows, solvers, classes, targets, look, values, places }) {
  const usable = classes.scaling.filter((fit) => fit.target < targets.length);
  if (!usable.length) return places.empty("No data set here was brought to a certified gap in three sizes or more, so nothing is known of growth. harness compare --datasets 'twonorm[n=500],twonorm[n=1000],twonorm[n=2000]' --target-gap 1e-3 measures three.");
  const families = d3.groups(usable, keyOf).map(([key, fits]) => [key, `${fits[0].family}, ${fits[0].formulation || "unknown"}, by ${AXES[fits[0].axis]}`]);
  const chosen = families.some(([key]) => key === values.get("family")) ? values.get("family") : families[0][0];
  const [family, formulation, axis] = chosen.split("\n");
  const offered = [...new Set(usable.filter((fit) => keyOf(fit) === chosen).map((fit) => fit.target))].sort();
  const wanted = Number(values.get("gap") ?? 2);
  const target = offered.includes(wanted) ? wanted : offered.at(-1);
  const gap = tick(targets[target], "gap");
  places.controls.append(choice("Data set", "family", families, chosen), choice("Certified gap at most", "gap", offered.map((i) => [String(i), tick(targets[i], "gap")]), String(target)));
  const here = rows.filter((row) => unit(row) === family && (row.formulation ?? "") === formulation && row[axis] > 0 && known(row.seconds_to?.[target]));
  legend(places.legend, look, solvers, new Set(here.map((row) => row.solver)));
  const off = hidden();
  const shown = solvers.filter((name) => !off.has(name) && here.some((row) => row.solver === name));
  const points = here.filter((row) => shown.includes(row.solver)).map((row) => ({ row, x: row[axis], y: row.seconds_to[target], within: interval(row, "seconds_to", target) }));
  const lines = new Map(usable.filter((fit) => keyOf(fit) === chosen && fit.target === target && shown.includes(solvers[fit.solver])).map((fit) => [solvers[fit.solver], fit]));
  if (!points.length) return places.empty("Switch a solver on.");
  const chart = new Chart(places.figure, { height: Math.max(480, 90 + 14 * Math.min(shown.length, 40)), right: roomFor(shown.map(plain)), label: `Time to a certified gap of ${gap} against ${AXES[axis]}` });
  const { left, right, top, bottom } = chart.box;
  const on = (fit, size) => Math.exp(fit.intercept) * size ** fit.exponent[0];
  const x = scale(points.map((point) => point.x), true, [left, right]);
  const y = scale([...points.flatMap((point) => [point.y, ...point.within.filter(Number.isFinite)]), ...[...lines.values()].flatMap((fit) => fit.sizes.map((size) => on(fit, size)))], true, [bottom, top]);
  chart.axes(x, y, { x: AXES[axis], y: `Time to a gap of ${gap}` }, { x: "", y: "s" });
  const ends = [...lines].map(([solver, fit]) => {
    const [from, to] = fit.sizes.map((size) => [x(size), y(on(fit, size))]);
    chart.curve([from, to], look, solver).attr("data-exponent", fit.exponent[0]);
    return { x: to[0], y: to[1], solver };
  });
  for (const { row, x: size, y: spent, within } of points) {
    const high = Number.isFinite(within[1]) ? within[1] : spent;
    if (within[0] < high) chart.bar([x(size), y(within[0])], [x(size), y(high)], look, row.solver);
    chart.point({
      x: x(size), y: y(spent), area: 48, solver: row.solver, look, data: { dataset: row.dataset, x: size, y: spent },
      told: [plain(row.solver), row.dataset, `n = ${text(row.n_train, "")}, d = ${text(row.n_features, "")}`, `${text(spent, "s")}${within[0] < high ? ` (${text(within[0], "s")} to ${text(high, "s")})` : ""}`],
    });
  }
  chart.ends(ends);
  places.below.append(make("h2", {}, "Exponents"), table([
    { title: "Solver", value: ([solver]) => solver, cell: ([solver]) => breakable(plain(solver)), attributes: ([solver]) => ({ "data-solver": solver }) },
    { title: "Exponent", note: "95 % interval", value: ([, fit]) => fit.exponent[0], cell: ([, fit]) => exponent(fit) },
    { title: "Sizes", value: ([, fit]) => fit.points, cell: ([, fit]) => `${fit.points}, ${fit.sizes.map((size) => text(size, "")).join(" to ")}` },
  ], d3.sort(lines, ([, fit]) => fit.exponent[0]), { label: "Exponents of growth", name: "exponents" }), alternative([
    { title: "Solver", value: ({ row }) => row.solver },
    { title: "Data set", value: ({ row }) => row.dataset },
    { title: AXES[axis], value: (point) => point.x, cell: (point) => text(point.x, "") },
    { title: "Time to the gap", value: (point) => point.y, cell: (point) => text(point.y, "s") },
  ], points, "scaling"));
  places.note.append(" Least squares in logarithms.", clockNote(here, "trace_clock"));
  return chart.points.length;
}
