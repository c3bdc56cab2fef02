/* The data that the dashboard wrote, and the state of the page, which is its address. */

import { FIGURES, known } from "./units.js";

const DATA = "solvers/data/";
const loaded = new Map();

/* Load a file once: in a single page it stands in the page itself. */
export function load(name) {
  if (!loaded.has(name)) {
    const embedded = document.querySelector(`script[type="application/json"][data-name="${CSS.escape(name)}"]`);
    loaded.set(name, embedded ? Promise.resolve(JSON.parse(embedded.textContent)) : fetched(name));
  }
  return loaded.get(name);
}

async function fetched(name) {
  const answer = await fetch(DATA + name, { cache: "no-cache" });
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer.json();
}

const COLUMNS = ["status", "reason", "runs", "ran", "measured", "complete", "failed", "target_gap", "at_least", "intervals", "disturbed",
  "seconds_to", "seconds_to_intervals", "kernel_evaluations_to", "kernel_evaluations_to_intervals"];

/* Rows out of columns: names in the place of numbers, beside them the facts of solver and data set; a column that is missing
   has no values. */
export function rows(table, figures) {
  const { columns, solvers, datasets, commits } = table;
  const names = [...figures, ...COLUMNS];
  return Array.from({ length: table.rows }, (_, i) => {
    const [solver, dataset] = [columns.solver[i], columns.dataset[i]];
    const row = { ...table.solver_facts[solver], ...table.dataset_facts[dataset], ...(columns.problem && columns.problem[i] !== null ? table.problems[columns.problem[i]] : {}),
      solver: solvers[solver], dataset: datasets[dataset], commit: commits[columns.commit[i]] };
    for (const name of names) row[name] = columns[name] ? columns[name][i] : null;
    return row;
  });
}

/* A time, or a peak of memory, that was measured once is known to this factor either way (harness.ONE_RUN). */
export const ONE_RUN = 1.5;

/* Between which values a figure lies: [low, high], null where it is not known. target: the place of a certified gap, of
   "seconds_to" and "kernel_evaluations_to". */
export function interval(row, figure, target = null) {
  const value = target === null ? row[figure] : row[figure]?.[target];
  if (!known(value)) return null;
  const found = target === null ? row.intervals?.[figure] : row[`${figure}_intervals`]?.[target];
  if (found) return [found[0], found[1] ?? Infinity]; // some run never reached the target
  return row.runs === 1 && (figure === "seconds_to" || FIGURES[figure]?.noisy) ? [value / ONE_RUN, value * ONE_RUN] : [value, value];
}

/* Whether two rows are told apart in a figure: both are known, and their intervals do not overlap. */
export function apart(a, b, figure, target = null) {
  const [x, y] = [interval(a, figure, target), interval(b, figure, target)];
  return Boolean(x && y) && (x[1] < y[0] || y[1] < x[0]);
}

/* How many data sets rows are of, and how many problems they are stated as where those are more: "4 data sets (16 problems)". */
export function setsIn(rows) {
  const [sets, problems] = ["set", "dataset"].map((name) => new Set(rows.map((row) => row[name])).size);
  return `${sets} data set${sets === 1 ? "" : "s"}${problems > sets ? ` (${problems} problems)` : ""}`;
}

/* Whether a figure competes: every run did what was asked, and the figure is no lower bound. */
export const competes = (row, figure) => row.complete && known(row[figure]) && !(figure === "kernel_evaluations" && row.at_least);

export function state() {
  const [page, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { page, values: new URLSearchParams(query || "") };
}

export function address(page, values) {
  const query = values.toString();
  return `#/${page}${query ? `?${query}` : ""}`;
}

/* Write changes into the address, as an entry of the browser's history, so that Back undoes them; whether there were any. */
export function remember(changes) {
  const { page, values } = state();
  const before = values.toString();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") values.delete(name);
    else values.set(name, value);
  }
  if (values.toString() === before) return false;
  history.pushState(null, "", address(page, values));
  return true;
}

/* The same, and draw the page anew. */
export function change(changes) {
  if (remember(changes)) window.dispatchEvent(new HashChangeEvent("hashchange"));
}

/* Names in the address: a name may have any sign but this one. */
const SEPARATOR = "\n";
export const listed = (name) => new Set((state().values.get(name) || "").split(SEPARATOR).filter(Boolean));
export const joined = (names) => [...names].join(SEPARATOR);

export const hidden = () => listed("off");
export const hide = (names) => change({ off: joined(names) });
