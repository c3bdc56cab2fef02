/* Cost against error on one data set: who is on the front? The problems that one solver was run on are a curve. */

import { Chart, scale } from "./chart.js";
import { clockNote, ends, figureColumn, titleOf } from "./figures.js";
import { alternative, breakable, choice, legend, plain } from "./parts.js";
import { apart, competes, hidden } from "./store.js";
import { byName, FIGURES, known, range, text } from "./units.js";

export const title = "Pareto front";

const COSTS = ["time", "kernel_evaluations", "support_vectors"];
const ERRORS = ["test_error", "mse", "mae", "relative_gap"];
const LEAST = { relative_gap: 1e-12 }; // what rounding made smaller is zero

/* The points that no other is at least as good as in both; from the cheapest on. */
export function front(points) {
  let least = Infinity;
  return [...points].sort((a, b) => a.x - b.x || a.y - b.y).filter((point) => {
    if (point.y >= least) return false;
    least = point.y;
    return true;
  });
}

/* Those that no other is better than: not worse in either figure, and better in one by more than the noise. */
function unbeaten(points, cost, error) {
  const worse = (p, q, figure, end) => q[end] < p[end] && apart(p.row, q.row, figure);
  return points.filter((p) => !points.some((q) => (worse(p, q, cost, "x") && !worse(q, p, error, "y"))
    || (worse(p, q, error, "y") && !worse(q, p, cost, "x"))));
}

export function draw({ rows, solvers, figures, look, values, places }) {
  const usable = rows.filter((row) => row.measured && COSTS.some((name) => known(row[name])) && ERRORS.some((name) => known(row[name])));
  const sets = [...new Set(usable.map((row) => row.set))].sort(byName);
  if (!sets.length) return places.empty("No run has both a cost and an error.");
  const asked = values.get("dataset") ?? "";
  const chosen = sets.find((name) => name === asked) ?? usable.find((row) => row.dataset === asked)?.set ?? sets[0];
  const whole = usable.filter((row) => row.set === chosen);
  const problemOf = (row) => [row.problem, row.kernel].filter(Boolean).join(", ");
  const problems = d3.rollups(whole, (found) => found.length, problemOf).sort((a, b) => b[1] - a[1]);
  const gaps = values.get("y") === "relative_gap"; // gaps of different problems do not compare
  const problem = problems.some(([name]) => name === values.get("problem")) ? values.get("problem") : gaps ? problems[0][0] : null;
  const here = whole.filter((row) => problem === null || problemOf(row) === problem);
  const offered = (names) => names.filter((name) => figures.includes(name) && here.some((row) => known(row[name])));
  const [costs, errors] = [offered(COSTS), offered(ERRORS)];
  const cost = costs.includes(values.get("x")) ? values.get("x") : costs[0];
  const error = errors.includes(values.get("y")) ? values.get("y") : errors[0];
  const titled = (names) => names.map((name) => [name, titleOf(name, here)]);
  places.controls.append(choice("Data set", "dataset", sets.map((name) => [name, name]), chosen), choice("Cost", "x", titled(costs), cost), choice("Error", "y", titled(errors), error));
  if (problems.length > 1) {
    const each = problems.map(([name, cells]) => [name, `${name || "unknown"} (${cells})`]);
    places.controls.append(choice("Problem", "problem", gaps ? each : [["all", `all (${whole.length})`], ...each], problem ?? "all"));
  }
  legend(places.legend, look, solvers, new Set(here.map((row) => row.solver)));
  const off = hidden();
  const shown = here.filter((row) => !off.has(row.solver));
  const several = new Set(shown.map(problemOf)).size > 1;
  const points = shown.filter((row) => known(row[cost]) && known(row[error])).map((row) => ({
    row, solver: row.solver, name: [plain(row.solver), several && row.problem].filter(Boolean).join(", "), x: row[cost], y: Math.max(row[error], LEAST[error] ?? -Infinity),
  }));
  const curves = d3.groups(points, (p) => [p.solver, p.row.formulation].join("\n")).map(([, own]) => own.sort((a, b) => byName(problemOf(a.row), problemOf(b.row)))).filter((own) => own.length > 1);
  const missing = shown.length - points.length;
  places.note.append(" Bottom left is best; the dashed line is the front of those that did what was asked, a ring marks what nothing beats by more than its noise.",
    curves.length ? " Joined: one solver on several problems of this data set." : "",
    cost === "support_vectors" ? "" : " A larger mark has more support vectors.", shown.some((row) => ends(row, cost) || ends(row, error)) ? " Bars: intervals of repeated runs." : "", cost === "time" ? clockNote(here) : "",
    missing ? ` ${missing} not shown: no ${titleOf(cost, here).toLowerCase()} known.` : "");
  if (!points.length) return places.empty("No solver that is switched on has both figures.");
  paint(places, points, curves, { cost, error, look, chosen });
  return points.length;
}

function paint(places, points, curves, { cost, error, look, chosen }) {
  const rows = points.map((p) => p.row);
  const [xTitle, yTitle] = [titleOf(cost, rows), titleOf(error, rows)];
  const [xUnit, yUnit] = [FIGURES[cost].unit, FIGURES[error].unit];
  const chart = new Chart(places.figure, { height: 560, label: `${yTitle} against ${xTitle} on ${chosen}` });
  const { left, right, top, bottom } = chart.box;
  const x = scale([...points.map((p) => p.x), ...rows.flatMap((row) => ends(row, cost) ?? [])], true, [left, right - (chart.narrow ? 6 : 60)]);
  const y = scale([...points.map((p) => p.y), ...rows.flatMap((row) => ends(row, error) ?? [])], FIGURES[error].log, [bottom, top]);
  chart.axes(x, y, { x: xTitle, y: yTitle }, { x: xUnit, y: yUnit });
  const rivals = points.filter((p) => competes(p.row, cost));
  const best = front(rivals);
  const on = new Set(unbeaten(rivals, cost, error));
  const steps = best.flatMap((p, i) => (i ? [[x(p.x), y(best[i - 1].y)], [x(p.x), y(p.y)]] : [[x(p.x), top], [x(p.x), y(p.y)]]));
  if (best.length) steps.push([right, y(best.at(-1).y)]);
  if (best.length) chart.svg.append("path").attr("class", "front").attr("d", d3.line()(steps));
  chart.keepClear(steps);
  const at = (p) => [x(p.x), y(p.y)];
  const short = new Map(); // along a curve the problem is enough: the first point has the name
  for (const own of curves) {
    chart.curve(own.map(at), look, own[0].solver);
    chart.keepClear(own.map(at));
    own.slice(1).forEach((p) => short.set(p, p.row.problem));
  }
  for (const p of points) {
    const [px, py] = at(p);
    const [across, along] = [ends(p.row, cost), ends(p.row, error)];
    if (across) chart.bar([x(across[0]), py], [x(across[1]), py], look, p.solver);
    if (along && (along[0] > 0 || !FIGURES[error].log)) chart.bar([px, y(along[0])], [px, y(along[1])], look, p.solver);
  }
  const most = d3.max(rows, (row) => row.support_vectors) || 1;
  const area = (p) => (cost === "support_vectors" ? 90 : 40 + 300 * ((p.row.support_vectors || 0) / most));
  const placed = new Map();
  for (const p of [...points].sort((a, b) => area(b) - area(a))) { // small marks over large ones
    const [px, py] = at(p);
    const figure = (name) => {
      const [unit, sure] = [FIGURES[name].unit, ends(p.row, name)];
      return `${titleOf(name, rows)}: ${text(p.row[name], unit)}${sure ? ` (${range(sure, unit)})` : ""}`;
    };
    placed.set(p, chart.point({
      x: px, y: py, area: area(p), solver: p.solver, look, front: on.has(p), name: short.get(p) ?? p.name,
      data: { dataset: p.row.dataset, x: p.x, y: p.row[error], size: p.row.support_vectors ?? "" },
      told: [p.solver, [p.row.problem, p.row.kernel].filter(Boolean).join(", "), figure(cost), figure(error),
        ...(cost === "support_vectors" ? [] : [figure("support_vectors")]),
        ...(on.has(p) ? ["nothing beats it by more than its noise"] : []), ...(p.row.complete ? [] : [`status: ${p.row.status}`])],
    }));
  }
  chart.labels([...best, ...points.filter((p) => !best.includes(p) && on.has(p)), ...points.filter((p) => !on.has(p) && !best.includes(p))].map((p) => placed.get(p)));
  places.below.append(alternative([
    { title: "Solver", value: (p) => p.solver, cell: (p) => breakable(p.solver) },
    { title: "Problem", value: (p) => p.row.problem ?? "" },
    { title: "Kernel", value: (p) => p.row.kernel ?? "" },
    figureColumn(cost, rows, (p) => p.row),
    figureColumn(error, rows, (p) => p.row),
    ...(cost === "support_vectors" ? [] : [figureColumn("support_vectors", rows, (p) => p.row)]),
    { title: "On the front", value: (p) => (on.has(p) ? "yes" : "") },
  ], points));
}
