/* What the pages of a pair, a solver and a data set share: ways to other pages, lists of facts, tables of results. */

import { ends, figureColumn, figured, titleOf } from "./figures.js";
import { make, plain, table } from "./parts.js";
import { address, load } from "./store.js";
import { known, text } from "./units.js";

/* A way to a page of ours. */
export const to = (page, values, ...children) => make("a", { href: address(page, new URLSearchParams(values)) }, ...children);
export const toSolver = (name, shown = plain(name)) => to("solver", { name }, shown);
export const toDataset = (name, shown = name) => to("dataset", { name }, shown);

/* What is known of the solvers or data sets that are installed where the site was made, by their bare names. */
export async function aboutAll(place, kind) {
  return new Map(place.latest.about ? Object.entries((await load(place.latest.about))[kind]) : []);
}

const OF_ASV = { time: ["Fit.time_fit", "time_fit"], kernel_evaluations: ["Record.track_kernel_evaluations", "track_kernel_evaluations"] };

/* The address of asv's graph of a figure for some solvers on a data set, null where no history is beside the pages. */
export function graph(index, place, figure, solvers, dataset) {
  if (!index.history) return null;
  const [own, exported] = OF_ASV[figure.startsWith("kernel") ? "kernel_evaluations" : "time"];
  const benchmark = place.environment.startsWith("compare-") ? `grid.${exported}` : `solvers.${own}`;
  const asked = [...solvers.map((name) => ["p-solver", name]), ["p-dataset", dataset]];
  return `history.html#${benchmark}?${asked.map(([name, value]) => `${name}=${encodeURIComponent(`'${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`)}`).join("&")}`;
}

/* A list of what is known: [name, text or node], those without a value left out. */
export function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return make("dl", { class: "facts" }, ...told.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, ...[value].flat())]));
}

export const section = (heading, ...children) => make("section", {}, make("h2", {}, heading), ...children);

/* Nodes with commas between them. */
export const enumerated = (nodes) => nodes.flatMap((node, i) => (i ? [", ", node] : [node]));

/* The parameters of a solver or a data set. */
export function parameters(known) {
  const columns = [["Parameter", "name"], ["Type", "type"], ["Range", "range"], ["Default", "default"], ["Meaning", "meaning"]];
  return table(columns.map(([title, name]) => ({ title, value: (parameter) => parameter[name] })), known, { label: "Parameters", name: "parameters", class: "texts" });
}

const USUAL = ["time", "kernel_evaluations", "support_vectors", "test_error", "relative_gap", "mse", "mae"];

/* All figures of rows behind the columns that say which row it is. */
export function results(heads, rows, { index, figures, label }) {
  const target = index.targets.findIndex((gap) => gap <= 1.001e-3);
  const there = figures.filter((name) => rows.some((row) => known(row[name])));
  const column = (name) => ({ ...figureColumn(name, rows), off: !USUAL.includes(name), cell: (row) => (row.measured ? figured(row, name) : "") });
  const status = { title: "Status", value: (row) => row.status, cell: (row) => make("span", { class: row.failed ? "status" : null, title: row.reason }, row.status) };
  const reached = {
    title: titleOf("seconds_to", rows), note: text(index.targets[target], "gap"), unit: "s", term: "target", value: (row) => row.seconds_to?.[target] ?? null,
    cell: (row) => (row.measured ? figured(row, "seconds_to", { target }) : ""), interval: (row) => ends(row, "seconds_to", target),
  };
  const any = target >= 0 && rows.some((row) => known(row.seconds_to?.[target]));
  return table([...heads, status, ...(any ? [reached] : []), ...there.map(column)], rows, { label, name: "results" });
}

/* The rows that did not do what was asked, with their reasons. */
export function failures(heads, rows) {
  const failed = rows.filter((row) => row.ran && (row.failed || !row.complete));
  if (!failed.length) return make("p", {}, rows.some((row) => row.ran) ? "Every run did what was asked." : "Nothing was run.");
  return table([...heads, { title: "Status", value: (row) => row.status }, { title: "Reason", value: (row) => row.reason || "no reason is known" }], failed, { label: "Failures and their reasons", name: "failures", class: "failures" });
}
