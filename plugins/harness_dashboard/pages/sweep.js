/* Sweeps: the rows of one solver that differ in one number alone, from the facts of solver and data set. */

import { known } from "./units.js";

/* "cache 1 MB, target 0.001" as numbers by name. */
function ofText(text) {
  const told = (text ?? "").split(", ").filter(Boolean).map((part) => /^(.+?) ([-+.\de]+)(?: \S+)?$/.exec(part) ?? [part, part, NaN]);
  return Object.fromEntries(told.map(([, name, value]) => [name, Number.isNaN(Number(value)) ? true : Number(value)]));
}

/* What was asked of a solver in a row, name by name: its own parameters and settings, those of the problem and of the kernel. */
export const settings = (row) => ({ ...row.parameters, ...ofText(row.settings), ...row.problem_parameters, ...row.kernel_parameters });
const kernelOf = (row) => row.kernel?.split(" ")[0] ?? null;
export const written = (value) => (typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value));

function differing(all) {
  const names = [...new Set(all.flatMap((each) => Object.keys(each)))];
  return names.filter((name) => new Set(all.map((each) => JSON.stringify(each[name] ?? null))).size > 1);
}

/* What tells the problems of these rows apart, as a function of a row: ["l2-svc", "C=10"]; nothing where there is one problem.
   A parameter tells where it differs among the problems of the row's formulation; one that is "none" is not there. */
export function tellers(rows) {
  const asked = (row) => Object.fromEntries(Object.entries({ ...row.problem_parameters, ...row.kernel_parameters }).filter(([, value]) => (value ?? "none") !== "none"));
  const names = new Map(d3.groups(rows, (row) => row.formulation).map(([formulation, own]) => [formulation, differing(own.map(asked))]));
  const kinds = [(row) => row.formulation, kernelOf].filter((of) => new Set(rows.map(of)).size > 1);
  return (row) => [...kinds.map((of) => of(row)), ...names.get(row.formulation).filter((name) => asked(row)[name] !== undefined).map((name) => `${name}=${written(asked(row)[name])}`)].filter(Boolean);
}

/* The sweeps among points that have a row each: of one solver, formulation and kernel, in the order of the number that differs.
   Where several numbers do, it is the one with the most values, and each choice of the others is a sweep by itself. */
export function sweeps(points) {
  return d3.groups(points, (p) => [p.row.base, p.row.formulation, kernelOf(p.row)].join("\n")).flatMap(([, members]) => {
    const each = new Map(members.map((p) => [p, settings(p.row)]));
    const names = differing([...each.values()]);
    const values = (name) => members.map((p) => each.get(p)[name]);
    const by = d3.greatest(names.filter((name) => values(name).every(known)), (name) => new Set(values(name)).size);
    if (!by) return [];
    const rest = (p) => JSON.stringify(names.filter((name) => name !== by).map((name) => each.get(p)[name] ?? null));
    return d3.groups(members, rest).filter(([, own]) => own.length > 1)
      .map(([, own]) => ({ by, points: own.sort((a, b) => each.get(a)[by] - each.get(b)[by]) }));
  });
}
