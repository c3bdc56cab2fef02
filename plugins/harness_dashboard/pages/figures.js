/* How a figure is told: its title by the clock, how sure it is, its column in a table. */

import { make } from "./parts.js";
import { interval, valueOf } from "./store.js";
import { FIGURES, range, text } from "./units.js";

const CLOCKS = { cpu: "CPU time", wall: "Wall time" };

/* The title of a time of these rows. clock: the fact that names it; traces, and what they say of targets, may have another. */
export function timeTitle(rows, clock = "clock") {
  const clocks = new Set(rows.map((row) => row[clock]));
  return (clocks.size === 1 && CLOCKS[[...clocks][0]]) || "Time";
}

/* The title of a figure of these rows: a time says by which clock it is. */
export function titleOf(figure, rows) {
  if (figure === "time") return timeTitle(rows);
  return figure === "seconds_to" ? `${timeTitle(rows, "trace_clock")} to a certified gap` : FIGURES[figure].title;
}

/* What a reader of times must know: the clock, and where the machine did other work. */
export function clockNote(rows, clock = "clock") {
  const disturbed = rows.filter((row) => row.disturbed).length;
  const told = { [CLOCKS.cpu]: "CPU time of one thread", [CLOCKS.wall]: "wall time" }[timeTitle(rows, clock)] ?? "CPU time of one thread where every run of a data set has it, else wall time";
  return ` Time is ${told}.${disturbed ? ` ⚠ ${disturbed === 1 ? "1 cell" : `${disturbed} cells`}: wall time more than 1.5 times CPU time in one thread, so the machine did other work.` : ""}`;
}

/* The two ends between which repeated runs put a figure, null where there are none. target: the place of a certified gap. */
export function ends(row, figure, target = null) {
  const found = row.runs > 1 ? interval(row, figure, target) : null;
  return found && found[0] < found[1] ? found : null;
}

export const isTime = (figure) => FIGURES[figure].unit === "s" && figure !== "compile_seconds";

/* The mark of a time that other work disturbed; null where none did. */
export const disturbance = (row, where = "") => (row.disturbed ? make("span", { class: "mark", title: `${where}wall time ${text(row.disturbed, "ratio")} CPU time: the machine did other work` }, " ⚠") : null);

/* A figure with its interval below it; a time that other work disturbed is marked. target: the place of a certified gap;
   marks: what else stands behind the figure. */
export function figured(row, figure, { target = null, marks = [] } = {}) {
  const { unit } = FIGURES[figure];
  const least = figure === "kernel_evaluations" && row.at_least ? "≥ " : "";
  const sure = ends(row, figure, target);
  return make("span", { title: row.runs > 1 ? `median of ${row.runs} runs` : null },
    least + text(valueOf(row, figure, target), unit), isTime(figure) ? disturbance(row) : null, ...marks, sure ? make("small", { class: "ends" }, range(sure, unit)) : null);
}

/* The column of a figure. of: the row of what the table has in a line. */
export const figureColumn = (figure, rows, of = (row) => row) => ({ title: titleOf(figure, rows), value: (each) => of(each)[figure], cell: (each) => figured(of(each), figure) });
