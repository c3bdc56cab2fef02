/* The data that the dashboard wrote, and the state of the page, which is its address. */

import { known } from "./units.js";

const DATA = "solvers/data/";
const loaded = new Map();

/* Load a file once. */
export function load(name) {
  if (!loaded.has(name)) {
    loaded.set(name, fetch(DATA + name, { cache: "no-cache" }).then((answer) => {
      if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
      return answer.json();
    }));
  }
  return loaded.get(name);
}

/* Rows out of columns, names in the place of numbers; a column that is missing has no values. */
export function rows(table, figures) {
  const { columns, solvers, datasets, commits } = table;
  const names = [...figures, "status", "reason", "runs", "ran", "measured", "complete", "failed", "target_gap", "at_least", "n_train", "n_features", "n_test", "spread", "seconds_to", "kernel_evaluations_to"];
  return Array.from({ length: table.rows }, (_, i) => {
    const row = { solver: solvers[columns.solver[i]], dataset: datasets[columns.dataset[i]], commit: commits[columns.commit[i]] };
    row.formulation = columns.formulation ? columns.formulation[i] : null;
    for (const name of names) row[name] = columns[name] ? columns[name][i] : null;
    return row;
  });
}

/* The name of a row's data set without its problem: cost and test error compare over all problems on the same points. */
export function points(row) {
  const parts = row.dataset.split(", ");
  const place = parts.findIndex((part, i) => i > 0 && row.formulation && (part === row.formulation || part.startsWith(`${row.formulation} `)));
  return parts.filter((_, i) => place < 0 || i !== place).join(", ");
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
