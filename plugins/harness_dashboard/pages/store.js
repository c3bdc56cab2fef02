/* The data that the dashboard wrote into the page, and the state of the page, which is its address. */

import { FIGURES, known } from "./units.js";

const loaded = new Map();

/* A block of data, parsed when it is first asked for. */
export function load(name) {
  if (!loaded.has(name)) loaded.set(name, JSON.parse(document.querySelector(`script[data-name="${name}"]`).textContent));
  return loaded.get(name);
}

/* Rows out of columns: names in the place of numbers, beside them the facts of the data set; a column that is missing has no
   values. */
export function rows(table, figures) {
  const { columns, solvers, datasets, commits } = table;
  const names = [...figures, "status", "reason", "runs", "ran", "measured", "complete", "target_gap", "at_least", "intervals", "disturbed",
    "seconds_to", "seconds_to_intervals", "kernel_evaluations_to", "kernel_evaluations_to_intervals"];
  return Array.from({ length: table.rows }, (_, i) => {
    const dataset = columns.dataset[i];
    const problem = columns.problem?.[i] ?? null;
    const row = { ...table.dataset_facts[dataset], ...(problem === null ? {} : table.problems[problem]),
      solver: solvers[columns.solver[i]], dataset: datasets[dataset], commit: commits[columns.commit[i]] };
    for (const name of names) row[name] = columns[name]?.[i] ?? null;
    return row;
  });
}

/* A time, or a peak of memory, that was measured once is known to this factor either way (harness.ONE_RUN). */
export const ONE_RUN = 1.5;

/* A figure of a row. target: the place of a certified gap, of "seconds_to" and "kernel_evaluations_to". */
export const valueOf = (row, figure, target = null) => (target === null ? row[figure] : row[figure]?.[target]) ?? null;

/* Between which values a figure lies: [low, high], null where it is not known. */
export function interval(row, figure, target = null) {
  const value = valueOf(row, figure, target);
  if (!known(value)) return null;
  const found = target === null ? row.intervals?.[figure] : row[`${figure}_intervals`]?.[target];
  if (found) return [found[0], found[1] ?? Infinity]; // some run never reached the target
  return row.runs === 1 && FIGURES[figure]?.noisy ? [value / ONE_RUN, value * ONE_RUN] : [value, value];
}

/* Whether two rows can be distinguished by a figure: both are known, and their intervals do not overlap. */
export function apart(a, b, figure, target = null) {
  const [x, y] = [interval(a, figure, target), interval(b, figure, target)];
  return Boolean(x && y) && (x[1] < y[0] || y[1] < x[0]);
}

/* Whether a figure competes: every run did what was asked, and the figure is no lower bound. */
export const competes = (row, figure) => row.complete && known(row[figure]) && !(figure === "kernel_evaluations" && row.at_least);

/* The data set behind a name with parameters: draws of other sizes or with noise are not independent. */
export const unit = (row) => (row.set ?? row.dataset).split("[")[0];

/* The formulations of rows that were certified at some gap, the one with the most cells first: [name, cells]. */
export const formulationsOf = (rows) => d3.rollups(rows.filter((row) => row.seconds_to), (found) => found.length, (row) => row.formulation ?? "").sort((a, b) => b[1] - a[1]);

export function state() {
  const [page, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { page, values: new URLSearchParams(query || "") };
}

export function address(page, values) {
  const query = new URLSearchParams(values).toString();
  return `#/${page}${query ? `?${query}` : ""}`;
}

/* Write changes into the address, as an entry of the browser's history, so that Back undoes them. */
export function remember(changes) {
  const { page, values } = state();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") values.delete(name);
    else values.set(name, value);
  }
  history.pushState(null, "", address(page, values));
}

/* The same, and draw the page anew. */
export function change(changes) {
  remember(changes);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

/* The solvers that are switched off on every page: a name may have any sign but a line's end. */
export const hidden = () => new Set((state().values.get("off") || "").split("\n").filter(Boolean));
export const hide = (names) => change({ off: [...names].join("\n") });
