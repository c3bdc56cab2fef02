/* Solver x data set: one figure of all, or all figures of one data set. */

import { clockNote, figured, isTime, timeTitle, titleOf } from "./figures.js";
import { breakable, choice, legend, make, plain, table } from "./parts.js";
import { apart, competes, hidden, valueOf as figureOf } from "./store.js";
import { byName, FIGURES, known, text, tick } from "./units.js";

export const title = "Table";

const COSTS = ["seconds_to", "kernel_evaluations_to"];
const TARGET = 1e-3; // what solvers stop at by themselves, more or less: the first choice

const stated = (row) => make("span", { class: "status", title: row.reason }, row.status);
const valueOf = (row, { figure, target }) => figureOf(row, figure, target);

/* Whether a run ended without being certified at the target; what is not counted is not missed. */
const missed = (row, target) => row.ran && !known(row.seconds_to?.[target]);

function content(row, { figure, target, gap }) {
  if (!row) return document.createTextNode("");
  if (!row.measured) return row.ran ? stated(row) : make("span", { class: "soft", title: row.reason }, "n/a");
  const marks = [/ \d+\/\d+$/.test(row.status) ? make("span", {}, " ", stated(row)) : row.complete ? "" : make("span", { class: "soft", title: `${row.status}: ${row.reason || ""}` }, " †")];
  if (target === null || !missed(row, target)) return figured(row, figure, { target, marks });
  return make("span", { class: "soft", title: `never certified at ${tick(gap, "gap")}` }, "not reached", ...marks, make("small", { class: "ends" }, `gap ${text(row.relative_gap, "gap")}`));
}

/* The solvers of a column that share its shading: the best and what cannot be distinguished from it, if anything can. What a target
   costs compares for whoever was certified to reach it; what else depends on where a solver stopped, only where all were
   asked for the same gap. */
function best(rows, which) {
  const { figure, target } = which;
  const { low, stops } = FIGURES[figure];
  const rivals = rows.filter((row) => (target === null ? competes(row, figure) : known(valueOf(row, which))));
  const others = rivals.length + (target === null ? 0 : rows.filter((row) => missed(row, target)).length); // who never reached it has lost
  if (low === null || others < 2 || !rivals.length) return new Set();
  if (stops && !rivals.every((row) => known(row.target_gap) && row.target_gap === rivals[0].target_gap)) return new Set();
  const top = d3.least(rivals, (row) => valueOf(row, which));
  const near = rivals.filter((row) => !apart(row, top, figure, target));
  return new Set(near.length < others ? near : []);
}

function columnOf(of, names, which, title, note) {
  const top = best(names.map(of).filter(Boolean), which);
  const measured = (solver) => (of(solver)?.measured ? of(solver) : null);
  return {
    title, note,
    value: (solver) => (measured(solver) ? valueOf(of(solver), which) : null),
    cell: (solver) => content(of(solver), which),
    attributes: (solver) => {
      const row = of(solver);
      return row ? { "data-solver": solver, "data-dataset": row.dataset, "data-status": row.status, "data-value": valueOf(row, which), class: top.has(row) ? "best" : null } : { class: "none" };
    },
  };
}

/* The target at first: 1e-3, or the closest to it that half of the cells with a certified gap have reached, else what most have. */
function usualTarget(rows, targets, figure) {
  const certified = rows.filter((row) => row[figure]);
  const reached = targets.map((_, i) => certified.filter((row) => known(row[figure][i])).length);
  const half = targets.findLastIndex((gap, i) => gap >= TARGET && reached[i] * 2 >= certified.length);
  return half >= 0 ? half : d3.greatestIndex(reached);
}

export function draw({ rows, solvers, figures, targets: gaps, look, values, places }) {
  const datasets = [...new Set(rows.map((row) => row.dataset))].sort(byName);
  const chosen = datasets.includes(values.get("dataset")) ? values.get("dataset") : "";
  const offered = [...COSTS.filter((name) => rows.some((row) => row[name]?.some(known))), ...figures];
  const figure = offered.includes(values.get("figure")) ? values.get("figure") : offered[0] ?? "time"; // nothing is known where all failed
  const tightest = rows.every((row) => known(row.target_gap)) ? d3.min(rows, (row) => row.target_gap) * (1 - 1e-9) : 0; // nothing was asked for below it
  const targets = gaps.map((gap, i) => ({ gap, target: i })).filter(({ gap, target }) => gap >= tightest && rows.some((row) => COSTS.some((name) => known(row[name]?.[target]))));
  const asked = Number(values.get("target") ?? NaN);
  const target = !COSTS.includes(figure) ? null : targets.some((each) => each.target === asked) ? asked : usualTarget(rows, gaps, figure);
  places.controls.append(choice("Data sets", "dataset", [["", `all ${datasets.length}, one figure`], ...datasets.map((name) => [name, name])], chosen));
  if (!chosen) places.controls.append(choice("Figure", "figure", offered.map((name) => [name, titleOf(name, rows)]), figure));
  if (!chosen && target !== null) places.controls.append(choice("Certified relative gap at most", "target", targets.map((each) => [String(each.target), tick(each.gap, "gap")]), String(target)));
  legend(places.legend, look, solvers, new Set(rows.filter((row) => !chosen || row.dataset === chosen).map((row) => row.solver)));
  const off = hidden();
  const shown = rows.filter((row) => !off.has(row.solver) && (!chosen || row.dataset === chosen));
  const cells = new Map(shown.map((row) => [`${row.solver}\n${row.dataset}`, row]));
  const cell = (dataset) => (solver) => cells.get(`${solver}\n${dataset}`);
  const names = [...new Set(shown.map((row) => row.solver))];
  const first = { title: "Solver", value: (name) => name, cell: (name) => breakable(plain(name)) };
  const columns = chosen ? figuresOf(chosen, { shown, figures, targets, names, of: cell(chosen) })
    : datasets.map((dataset) => {
      const [head, ...rest] = dataset.split(/, (?=[a-z0-9-]+(?: [a-zA-Z0-9_]+=|, |$))/);
      return { ...columnOf(cell(dataset), names, { figure, target, gap: gaps[target] }, head, rest.join(", ")) };
    });
  const label = chosen ? `All figures on ${chosen}` : `${titleOf(figure, rows)}${target === null ? "" : ` of ${tick(gaps[target], "gap")}`}, solvers by data sets`;
  places.figure.append(table([first, ...columns], names, { label }));
  failures(places.below, shown);
  const timed = chosen || isTime(figure);
  places.note.append(timed ? clockNote(shown, target === null ? "clock" : "trace_clock") : "", shown.some((row) => row.runs > 1) ? " Below a median: the interval of its repeated runs." : "",
    ` Shaded: the best of a column and what cannot be distinguished from it; ${target === null || chosen ? "costs up to a solver's own stop only where all were asked for the same gap" : "who was never certified that good has not reached the target"}; ≥ at least, not all is counted; – not observable; empty: not run; † did not do what was asked.`);
  return cells.size;
}

/* The columns of one data set: the costs of the targets, then each figure that is known. */
function figuresOf(chosen, { shown, figures, targets, names, of }) {
  const isKnown = (which) => shown.some((row) => known(valueOf(row, which)));
  const twin = { cpu: "cpu_seconds", wall: "fit_seconds" }[shown[0]?.clock]; // it is the figure `time` once more
  return [
    ...COSTS.flatMap((figure) => targets.map((each) => ({ ...each, figure }))).filter(isKnown).map((which) => ({
      ...columnOf(of, names, which, which.figure === "seconds_to" ? timeTitle(shown, "trace_clock") : "Kernel evaluations", `to gap ${tick(which.gap, "gap")}`),
    })),
    ...figures.filter((figure) => figure !== twin).map((figure) => ({ figure, target: null })).filter(isKnown).map((which) => columnOf(of, names, which, titleOf(which.figure, shown), which.figure === "time" ? "until it stopped" : undefined)),
    { title: "Commit", value: (solver) => of(solver)?.commit ?? "" },
  ];
}

const NUMBER = /\d+(?:\.\d+)?(?:e[-+]?\d+)?/g;

/* One reason for several that differ in their numbers alone: each from the least to the greatest. */
export function together(reasons) {
  const numbers = reasons.map((reason) => reason.match(NUMBER) ?? []);
  let i = -1;
  return reasons[0].replace(NUMBER, () => {
    i += 1;
    const [low, high] = [d3.least, d3.greatest].map((end) => end(numbers, (own) => Number(own[i]))[i]);
    return Number(low) === Number(high) ? low : `${low} to ${high}`;
  });
}

/* What was run and did not do what was asked, of the cells that are shown: a line for each solver and reason; those that have
   a model, which is not good enough, come last. */
function failures(target, shown) {
  const ran = shown.filter((row) => row.ran);
  const failed = ran.filter((row) => !row.complete);
  const cells = (number) => (number === 1 ? "1 cell" : `${number} cells`);
  if (!failed.length) {
    target.replaceChildren(make("p", {}, `${ran.length === 1 ? "The 1 cell that was run" : `All ${cells(ran.length)} that were run`} did what was asked.`));
    return;
  }
  const groups = d3.groups(failed, (row) => [row.solver, row.status, (row.reason ?? "").replace(NUMBER, "#")].join("\n")).map(([, own]) => own);
  groups.sort((a, b) => a[0].measured - b[0].measured || b.length - a.length);
  const columns = [
    { title: "Solver", value: ([row]) => row.solver, cell: ([row]) => breakable(plain(row.solver)) },
    { title: "Status", value: ([row]) => row.status, cell: ([row]) => stated(row) },
    { title: "Where", value: (own) => own.length, cell: (own) => make("details", {}, make("summary", {}, cells(own.length)), ...own.map((row) => make("div", {}, row.dataset))) },
    { title: "Reason", value: ([row]) => row.reason || "", cell: (own) => (own[0].reason ? together(own.map((row) => row.reason)) : "no reason is known") },
  ];
  target.replaceChildren(make("h2", {}, `${failed.length} of ${cells(ran.length)} did not do what was asked`), table(columns, groups, { label: "Failures and their reasons", name: "failures", class: "failures" }));
}
