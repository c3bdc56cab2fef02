/* The history: what changed at the newest commit and at those before, and a figure of a solver's cells over the commits. */

import { Chart, roomFor, scale } from "./chart.js";
import { choice, Look, make, table } from "./parts.js";
import { known, text } from "./units.js";

export const title = "History";

const FIGURES = {
  cpu_seconds: ["CPU time", "s"], fit_seconds: ["Wall time", "s"], kernel_evaluations: ["Kernel evals", ""], core_set_size: ["Core set", ""],
  test_error: ["Test error", "%"], digits: ["Certified digits", "digits"], peak_rss_bytes: ["Peak memory", "B"],
};
const SHOWN = ["fit_seconds", "cpu_seconds", "kernel_evaluations", "core_set_size", "test_error"];
const FIGURE_OF = {
  "CPU time": "cpu_seconds", "wall time": "fit_seconds", "peak memory": "peak_rss_bytes", "kernel evaluations": "kernel_evaluations",
  "core set": "core_set_size", "test error": "test_error", digits: "digits",
};

const ratio = ({ metric, before, after }) => (known(before) && known(after) && before > 0 && metric !== "digits" ? ` ${Number((after / before).toPrecision(2))}×` : "");

/* A line for each cell and verdict of a commit, regressions first. */
function lines({ cells }, { commit, changes }) {
  return d3.groups(changes, ({ cell, verdict }) => [...cell, verdict].join("\n")).map(([, [first, ...others]]) => ({
    ...first, commit, label: `${first.verdict}: ${[first, ...others].map((each) => each.metric + ratio(each)).join(", ")}`, place: cells.findIndex((cell) => cell.join("\n") === first.cell.join("\n")),
  })).filter(({ place }) => place >= 0).sort((a, b) => b.regression - a.regression);
}

const COLUMNS = [
  { title: "Solver", value: (row) => row.cell[0], attributes: (row) => ({ "data-solver": row.cell[0] }) },
  { title: "Data set", value: (row) => row.cell[1] },
  { title: "Change", value: (row) => row.label, attributes: () => ({ class: "change" }), cell: (row) => make("span", { class: row.regression ? "status" : null, title: row.reason }, row.label) },
];

function changesOf(series) {
  const { commits, figures, against } = series;
  const from = commits.lastIndexOf(against);
  const rows = lines(series, { changes: series.changes });
  const isKnown = (name) => rows.some(({ place }) => known(figures[name][place][from]) || known(figures[name][place].at(-1)));
  return table([
    ...COLUMNS,
    ...SHOWN.filter(isKnown).map((name) => {
      const ends = (row) => [figures[name][row.place][from], figures[name][row.place].at(-1)].map((value) => text(value, FIGURES[name][1]));
      return { title: FIGURES[name][0], note: "before → after", value: (row) => figures[name][row.place].at(-1), cell: (row) => ends(row).join(" → ") };
    }),
  ], rows, { label: "What changed at the newest commit", name: "changes" });
}

/* What changed at the commits before the newest one, the newest first. */
function earlierOf(series) {
  const rows = series.earlier.flatMap((each) => lines(series, each));
  const columns = [{ title: "Commit", value: (row) => row.commit }, ...COLUMNS];
  return rows.length ? [make("h2", {}, "What changed before"), table(columns, rows, { label: "What changed at earlier commits", name: "earlier" })] : [];
}

export function draw({ series, values, places, solvers }) {
  if (!series) return places.empty("Only one commit was measured on this machine: there is no history yet.");
  const { commits, cells, figures, changes, against, earlier } = series;
  places.answer.append(make("h2", {}, `What changed at the newest commit, ${commits.at(-1)}`), !changes
    ? make("p", {}, "Not compared: `harness dashboard run` compares each commit that it measures with the one before, `harness dashboard check` any two.")
    : changes.length ? changesOf(series) : make("p", { "data-changes": "0" }, `Nothing, since ${against}.`),
  make("p", { class: "soft" }, "Counts are the same in every run. A time is listed if it differed in a second measurement too, both commits in turns."));
  places.below.append(...earlierOf(series));
  const names = solvers.filter((name) => cells.some(([solver]) => solver === name));
  const all = [...d3.sort(changes ?? [], (a, b) => b.regression - a.regression), ...earlier.flatMap((each) => each.changes)];
  const solver = [values.get("solver"), ...all.map(({ cell }) => cell[0])].find((name) => names.includes(name)) ?? names[0];
  const offered = Object.keys(FIGURES).filter((name) => figures[name].some((each) => each.some(known)));
  const changed = all.filter(({ cell }) => cell[0] === solver).map(({ metric }) => FIGURE_OF[metric]);
  const figure = [values.get("figure"), ...changed].find((name) => offered.includes(name)) ?? offered[0];
  places.controls.append(choice("Solver", "solver", names.map((name) => [name, name]), solver), choice("Figure", "figure", offered.map((name) => [name, FIGURES[name][0]]), figure));
  const curves = cells.map(([of, dataset], i) => ({ of, dataset, points: figures[figure][i].map((value, x) => ({ x, value })).filter(({ value }) => known(value)) })).filter((curve) => curve.of === solver && curve.points.length);
  if (!curves.length) return places.empty("This solver has no such figure at any commit.");
  const [heading, unit] = FIGURES[figure];
  const look = new Look(curves.map((curve) => curve.dataset));
  const chart = new Chart(places.figure, { height: 420, right: roomFor(curves.map((curve) => curve.dataset)), label: `${heading} of ${solver} over the commits` });
  const { left, right, top, bottom } = chart.box;
  const x = d3.scaleLinear([-0.2, commits.length - 0.8], [left, right]);
  const y = scale(curves.flatMap((curve) => curve.points.map((point) => point.value)), !["%", "digits"].includes(unit), [bottom, top]);
  const step = Math.max(1, Math.ceil((commits.length * 76) / (right - left)));
  chart.axes(x, y, { x: "Commit", y: heading }, { x: (i) => commits[i], y: unit }, d3.range(0, commits.length, step));
  for (const { dataset, points } of curves) {
    chart.curve(points.map((point) => [x(point.x), y(point.value)]), look, dataset);
    for (const point of points) {
      chart.point({ x: x(point.x), y: y(point.value), area: 36, solver: dataset, look, data: { commit: commits[point.x], y: point.value }, told: [dataset, `commit ${commits[point.x]}`, `${heading}: ${text(point.value, unit)}`] });
    }
  }
  chart.ends(curves.map(({ dataset, points }) => ({ x: x(points.at(-1).x), y: y(points.at(-1).value), solver: dataset })));
  return chart.points.length;
}
