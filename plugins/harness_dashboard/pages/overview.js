/* Solver x data set: one figure of all, or all figures of one data set. */

import { breakable, choice, legend, make, plain, table } from "./parts.js";
import { competes, hidden } from "./store.js";
import { byName, FIGURES, known, text } from "./units.js";

export const title = "Table";

const stated = (row) => make("span", { class: "status", title: row.reason }, row.status);

function content(row, figure) {
  if (!row) return document.createTextNode("");
  if (!row.measured) return row.ran ? stated(row) : make("span", { class: "soft", title: row.reason }, "n/a");
  const shown = make("span", { title: row.runs > 1 ? `median of ${row.runs} runs` : null }, (figure === "kernel_evaluations" && row.at_least ? "≥ " : "") + text(row[figure], FIGURES[figure].unit));
  if (/ \d+\/\d+$/.test(row.status)) shown.append(" ", stated(row));
  else if (!row.complete) shown.append(make("span", { class: "soft", title: `${row.status}: ${row.reason || ""}` }, " †"));
  return shown;
}

const attributes = (row, figure, best) => (row ? {
  "data-solver": row.solver, "data-dataset": row.dataset, "data-status": row.status, "data-value": row[figure],
  class: best !== null && row[figure] === best && competes(row, figure) ? "best" : null,
} : { class: "none" });

/* The best value of a column, if more than one solver did what was asked; what depends on where a solver stopped
   compares only if all of them were asked for the same gap. */
function best(rows, figure) {
  const { low, stops } = FIGURES[figure];
  const rivals = rows.filter((row) => competes(row, figure));
  const values = rivals.map((row) => row[figure]);
  if (low === null || values.length < 2) return null;
  if (stops && !rivals.every((row) => known(row.target_gap) && row.target_gap === rivals[0].target_gap)) return null;
  const found = Math.min(...values);
  return values.every((value) => value === found) ? null : found;
}

export function draw({ rows, solvers, figures, look, values, places }) {
  const datasets = [...new Set(rows.map((row) => row.dataset))].sort(byName);
  const chosen = datasets.includes(values.get("dataset")) ? values.get("dataset") : "";
  const figure = figures.includes(values.get("figure")) ? values.get("figure") : "fit_seconds";
  places.controls.append(choice("Data sets", "dataset", [["", `all ${datasets.length}, one figure`], ...datasets.map((name) => [name, name])], chosen));
  if (!chosen) places.controls.append(choice("Figure", "figure", figures.map((name) => [name, FIGURES[name].title]), figure));
  legend(places.legend, look, solvers, new Set(rows.map((row) => row.solver)));
  const off = hidden();
  const shown = rows.filter((row) => !off.has(row.solver));
  const cells = new Map(shown.map((row) => [`${row.solver}\n${row.dataset}`, row]));
  const cell = (solver, dataset) => cells.get(`${solver}\n${dataset}`);
  const names = [...new Set(shown.map((row) => row.solver))].filter((name) => !chosen || cell(name, chosen));
  const first = { title: "Solver", value: (name) => name, cell: (name) => breakable(plain(name)) };
  const column = (of, name, head, note) => {
    const top = best(names.map(of).filter(Boolean), name);
    return {
      title: head, note,
      value: (solver) => { const row = of(solver); return row && row.measured ? row[name] : null; },
      cell: (solver) => content(of(solver), name),
      attributes: (solver) => attributes(of(solver), name, top),
    };
  };
  const columns = chosen
    ? figures.filter((name) => names.some((solver) => known(cell(solver, chosen)[name]))).map((name) => column((solver) => cell(solver, chosen), name, FIGURES[name].title))
    : datasets.map((dataset) => {
      const [head, ...rest] = dataset.split(/, (?=[a-z0-9-]+(?: [a-zA-Z0-9_]+=|, |$))/);
      return column((solver) => cell(solver, dataset), figure, head, rest.join(", "));
    });
  places.figure.replaceChildren(table([first, ...columns], names, { label: chosen ? `All figures on ${chosen}` : `${FIGURES[figure].title}, solvers by data sets` }));
  places.note.append(" Best of a column shaded, costs only where all were asked for the same gap; ≥ at least, not all is counted; – not observable; empty: not run; † did not do what was asked.");
  below(places.below, shown.filter((row) => (row.failed || / \d+\/\d+$/.test(row.status)) && (!chosen || row.dataset === chosen)), shown);
  return cells.size;
}

function below(target, failures, shown) {
  if (!failures.length) {
    target.replaceChildren(make("p", {}, `All ${shown.length} cells did what was asked.`));
    return;
  }
  const columns = [
    { title: "Solver", value: (row) => row.solver },
    { title: "Data set", value: (row) => row.dataset },
    { title: "Status", value: (row) => row.status, cell: stated },
    { title: "Reason", value: (row) => row.reason || "", cell: (row) => row.reason || "no reason is known" },
  ];
  target.replaceChildren(make("h2", {}, `${failures.length} of ${shown.length} cells did not do what was asked`), table(columns, failures, { label: "Failures and their reasons", class: "failures" }));
}
