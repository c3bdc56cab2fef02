/* Anytime curves: how good the model was after so much time, so many kernel values or so many queries. */

import { Chart, scale } from "./chart.js";
import { clockNote, timeTitle } from "./figures.js";
import { alternative, choice, legend } from "./parts.js";
import { hidden } from "./store.js";
import { FIGURES, known, text } from "./units.js";

export const title = "Anytime curves";

const COSTS = { seconds: "time", kernel_evaluations: "kernel_evaluations", queried: "queried" };
const QUALITIES = ["relative_gap", "suboptimality", "test_error"];
const LEAST = { relative_gap: 1e-12, suboptimality: 1e-12, test_error: 1e-5 };

export function draw({ rows: all, datasets, traces: load, solvers, look, values, places }) {
  const wanted = datasets.indexOf(values.get("dataset"));
  const number = wanted >= 0 ? wanted : Math.max(0, datasets.findIndex((name) => all.some((row) => row.dataset === name && row.seconds_to)));
  const traces = load(number);
  const has = (name) => Object.values(traces.solvers).some((points) => points.some((point) => known(point[traces.columns.indexOf(name)])));
  const costs = Object.entries(COSTS).filter(([name]) => name !== "queried" || has(name)); // few formulations query targets
  const rows = all.filter((row) => row.dataset === datasets[number]);
  const titles = { ...Object.fromEntries(costs.map(([name, figure]) => [name, FIGURES[figure].title])), seconds: timeTitle(rows, "trace_clock") };
  const cost = costs.some(([name]) => name === values.get("x")) ? values.get("x") : "seconds";
  const qualities = QUALITIES.filter((name) => name !== "suboptimality" || has(name)); // where a model has no gap of its own
  const quality = qualities.includes(values.get("y")) ? values.get("y") : qualities[0];
  places.controls.append(
    choice("Data set", "dataset", datasets.map((name) => [name, name]), datasets[number]),
    choice("Against", "x", costs.map(([name]) => [name, titles[name]]), cost),
    choice("Quality", "y", qualities.map((name) => [name, FIGURES[name].title]), quality),
  );
  const [column, row] = [traces.columns.indexOf(cost), traces.columns.indexOf(quality)];
  const off = hidden();
  const curves = [];
  const present = new Set();
  for (const [solver, points] of Object.entries(traces.solvers)) {
    const usable = points.filter((point) => known(point[column]) && point[column] > 0 && known(point[row]))
      .map((point) => ({ x: point[column], y: Math.max(point[row], LEAST[quality]), value: point[row] }));
    if (!usable.length) continue;
    present.add(solver);
    if (!off.has(solver)) curves.push({ solver, points: usable });
  }
  legend(places.legend, look, solvers, present);
  places.note.append(` The newest measurement of each solver, of several runs the one of median time; quality is certified outside the clock.${quality !== "test_error" ? " At most 10⁻¹² is drawn as 10⁻¹²." : ""}`,
    cost === "seconds" ? clockNote(rows, "trace_clock") : "");
  if (!curves.length) return places.empty("No trace with these figures: choose other figures, another data set, or switch solvers on.");
  return paint(places, curves, { cost, quality, look, title: titles[cost], chosen: datasets[number] });
}

function paint(places, curves, { cost, quality, look, title: xTitle, chosen }) {
  const [xs, ys] = [{ ...FIGURES[COSTS[cost]], title: xTitle }, FIGURES[quality]];
  const chart = new Chart(places.figure, { height: Math.max(480, 90 + 14 * Math.min(curves.length, 40)), right: 90, label: `${ys.title} against ${xs.title} on ${chosen}` });
  const { left, right, top, bottom } = chart.box;
  const points = curves.flatMap((curve) => curve.points);
  const x = scale(points.map((p) => p.x), true, [left, right]);
  const y = scale(points.map((p) => p.y), true, [bottom, top]);
  chart.axes(x, y, { x: xs.title, y: ys.title }, { x: xs.unit, y: ys.unit });
  const ends = [];
  for (const { solver, points: own } of curves) {
    const path = own.map((p) => [x(p.x), y(p.y)]);
    chart.keepClear(path.flatMap(([px, py], i) => (i ? [[px, path[i - 1][1]], [px, py]] : [[px, py]])));
    chart.curve(path, look, solver, d3.line().curve(d3.curveStepAfter)); // between two points the older model is all that is certified
    own.forEach((p, i) => {
      chart.point({
        x: path[i][0], y: path[i][1], area: i === own.length - 1 ? 64 : 22, solver, look, data: { dataset: chosen, x: p.x, y: p.value },
        told: [solver, `${xs.title}: ${text(p.x, xs.unit)}`, `${ys.title}: ${text(p.value, ys.unit)}`, ...(i === own.length - 1 ? ["the end"] : [])],
      });
    });
    ends.push({ x: path.at(-1)[0], y: path.at(-1)[1], solver, best: own.at(-1).y });
  }
  ends.sort((a, b) => a.best - b.best);
  chart.labels(ends.map((end) => ({ ...end, radius: 5 })));
  const rows = curves.flatMap(({ solver, points: own }) => own.map((p) => ({ solver, ...p })));
  places.below.append(alternative([
    { title: "Solver", value: (p) => p.solver },
    { title: xs.title, value: (p) => p.x, cell: (p) => text(p.x, xs.unit) },
    { title: ys.title, value: (p) => p.value, cell: (p) => text(p.value, ys.unit) },
  ], rows));
  return chart.points.length;
}
