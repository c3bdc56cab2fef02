/* Cost against error on one data set: who is on the front? */

import { Chart, scale } from "./chart.js";
import { alternative, choice, legend, make, plain } from "./parts.js";
import { competes, hidden, points as pointsOf } from "./store.js";
import { byName, FIGURES, known, text } from "./units.js";

export const title = "Pareto front";

const COSTS = ["fit_seconds", "kernel_evaluations"];
const ERRORS = ["test_error", "mse", "mae", "relative_gap"];

/* The points that no other is at least as good as in both; from the cheapest on. */
export function front(points) {
  let least = Infinity;
  return [...points].sort((a, b) => a.x - b.x || a.y - b.y).filter((point) => {
    if (point.y >= least) return false;
    least = point.y;
    return true;
  });
}

export function draw({ rows, solvers, figures, look, values, places }) {
  const usable = rows.filter((row) => row.measured && COSTS.some((name) => known(row[name])) && ERRORS.some((name) => known(row[name])));
  const datasets = [...new Set(usable.map(pointsOf))].sort(byName);
  if (!datasets.length) return places.empty("No run has both a cost and an error.");
  const asked = values.get("dataset") ?? "";
  const chosen = datasets.find((name) => name === asked) ?? usable.filter((row) => row.dataset === asked).map(pointsOf)[0] ?? datasets[0];
  const whole = usable.filter((row) => pointsOf(row) === chosen);
  const problems = d3.rollups(whole, (found) => found.length, (row) => row.formulation ?? "").sort((a, b) => b[1] - a[1]);
  const gaps = values.get("y") === "relative_gap"; // gaps of different problems do not compare
  const problem = problems.some(([name]) => name === values.get("problem")) ? values.get("problem") : gaps ? problems[0][0] : null;
  const here = whole.filter((row) => problem === null || (row.formulation ?? "") === problem);
  const offered = (names) => names.filter((name) => figures.includes(name) && here.some((row) => known(row[name])));
  const [costs, errors] = [offered(COSTS), offered(ERRORS)];
  const cost = costs.includes(values.get("x")) ? values.get("x") : costs[0];
  const error = errors.includes(values.get("y")) ? values.get("y") : errors[0];
  const titled = (names) => names.map((name) => [name, FIGURES[name].title]);
  places.controls.append(choice("Data set", "dataset", datasets.map((name) => [name, name]), chosen), choice("Cost", "x", titled(costs), cost), choice("Error", "y", titled(errors), error));
  if (problems.length > 1) {
    const each = problems.map(([name, cells]) => [name, `${name || "unknown"} (${cells})`]);
    places.controls.append(choice("Problem", "problem", gaps ? each : [["all", `all (${whole.length})`], ...each], problem ?? "all"));
  }
  legend(places.legend, look, solvers, new Set(here.map((row) => row.solver)));
  const off = hidden();
  const least = error === "relative_gap" ? 1e-12 : -Infinity; // what rounding made smaller is zero
  const twins = new Set(d3.rollups(here, (found) => found.length, (row) => row.solver).filter(([, cells]) => cells > 1).map(([solver]) => solver));
  const points = here.filter((row) => !off.has(row.solver) && known(row[cost]) && known(row[error]))
    .map((row) => ({ row, solver: row.solver, name: twins.has(row.solver) ? `${plain(row.solver)}, ${row.formulation}` : row.solver, x: row[cost], y: Math.max(row[error], least) }));
  const missing = here.filter((row) => !off.has(row.solver)).length - points.length;
  places.note.append(" Bottom left is best; the dashed line is the front of those that did what was asked; a larger mark has more support vectors.", missing ? ` ${missing} not shown: no ${FIGURES[cost].title.toLowerCase()} known.` : "");
  if (!points.length) return places.empty("No solver that is switched on has both figures.");
  paint(places, points, { cost, error, look, chosen });
  return points.length;
}

function paint(places, points, { cost, error, look, chosen }) {
  const [xUnit, yUnit] = [FIGURES[cost].unit, FIGURES[error].unit];
  const chart = new Chart(places.figure, { height: 560, label: `${FIGURES[error].title} against ${FIGURES[cost].title} on ${chosen}` });
  const { left, right, top, bottom } = chart.box;
  const x = scale(points.map((p) => p.x), true, [left, right - (chart.narrow ? 6 : 60)]);
  const y = scale(points.map((p) => p.y), FIGURES[error].log, [bottom, top]);
  chart.axes(x, y, { x: FIGURES[cost].title, y: FIGURES[error].title }, { x: xUnit, y: yUnit });
  const best = front(points.filter((p) => competes(p.row, cost)));
  const steps = best.flatMap((p, i) => (i ? [[x(p.x), y(best[i - 1].y)], [x(p.x), y(p.y)]] : [[x(p.x), top], [x(p.x), y(p.y)]]));
  if (best.length) steps.push([right, y(best.at(-1).y)]);
  if (best.length) chart.svg.append("path").attr("class", "front").attr("d", d3.line()(steps));
  chart.keepClear(steps);
  const most = d3.max(points, (p) => p.row.support_vectors) || 1;
  const area = (p) => 40 + 300 * ((p.row.support_vectors || 0) / most);
  const ordered = [...points].sort((a, b) => area(b) - area(a)); // small marks over large ones
  for (const p of ordered) {
    const on = best.includes(p);
    chart.point({
      x: x(p.x), y: y(p.y), area: area(p), solver: p.solver, look, front: on,
      name: p.name, data: { dataset: p.row.dataset, x: p.x, y: p.row[error], size: p.row.support_vectors ?? "" },
      told: [p.row.formulation ? `${p.solver}, ${p.row.formulation}` : p.solver, `${FIGURES[cost].title}: ${text(p.x, xUnit)}`, `${FIGURES[error].title}: ${text(p.row[error], yUnit)}`,
        `Support vectors: ${text(p.row.support_vectors, "")}`, ...(on ? ["on the front"] : []), ...(p.row.complete ? [] : [`status: ${p.row.status}`])],
    });
  }
  const at = new Map(chart.points.map((point) => [point.name, point]));
  chart.labels([...best, ...points.filter((p) => !best.includes(p))].map((p) => at.get(p.name)));
  places.below.replaceChildren(alternative([
    { title: "Solver", value: (p) => p.name },
    { title: FIGURES[cost].title, value: (p) => p.x, cell: (p) => text(p.x, xUnit) },
    { title: FIGURES[error].title, value: (p) => p.row[error], cell: (p) => text(p.row[error], yUnit) },
    { title: "Support vectors", value: (p) => p.row.support_vectors, cell: (p) => text(p.row.support_vectors, "") },
    { title: "On the front", value: (p) => (best.includes(p) ? "yes" : "no"), cell: (p) => make("span", {}, best.includes(p) ? "yes" : "") },
  ], points));
}
