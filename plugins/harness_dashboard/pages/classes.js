/* The class of problems that a page is about: formulation, number of points, dimension, density. */

import { choice, make } from "./parts.js";
import { change } from "./store.js";

const AXES = ["formulation", "size", "dimension", "density"];

export const keyOf = (chosen) => AXES.map((axis) => chosen[axis]).join("|");

/* The class in the address; usual: the formulation where none is named, "" for all of them. */
export function classOf(values, ranking, usual = "") {
  const offered = { formulation: ranking.formulations, size: ["0", "1", "2", "3"], dimension: ["0", "1", "2"], density: ["dense", "sparse"] };
  const chosen = Object.fromEntries(AXES.map((axis) => [axis, offered[axis].includes(values.get(axis)) ? values.get(axis) : ""]));
  if (!values.has("formulation")) chosen.formulation = usual;
  return chosen;
}

/* A choice for each axis on which the problems differ. */
export function classControls(target, ranking, chosen) {
  const labels = {
    formulation: Object.fromEntries(ranking.formulations.map((name) => [name, name])),
    size: Object.fromEntries(ranking.sizes.map(([, label], i) => [i, label])),
    dimension: Object.fromEntries(ranking.dimensions.map(([, label], i) => [i, label])),
    density: { dense: "dense", sparse: `sparse: at most ${100 * ranking.sparse} % not zero` },
  };
  const titles = { formulation: "Problem", size: "Points", dimension: "Dimensions", density: "Density" };
  for (const axis of AXES) {
    const present = Object.keys(labels[axis]).filter((value) => Object.hasOwn(ranking.kinds, keyOf({ formulation: "", size: "", dimension: "", density: "", [axis]: value })));
    if (present.length > 1 || chosen[axis]) target.append(choice(titles[axis], axis, [["all", "all"], ...present.map((value) => [value, labels[axis][value]])], chosen[axis] || "all"));
  }
}

/* "c-svc, 1,000 to 5,000 points, dense". */
export function named(chosen, ranking) {
  const label = (classes, value, what) => value && `${classes[value][1] === "more" ? `over ${classes.at(-2)[0].toLocaleString("en")}` : classes[value][1]} ${what}`;
  return [chosen.formulation || "all problems", label(ranking.sizes, chosen.size, "points"), label(ranking.dimensions, chosen.dimension, "dimensions"), chosen.density].filter(Boolean).join(", ");
}

/* What is drawn where no problem is of a class. */
export function none(places, chosen, ranking, why = "No data set of this class was measured.") {
  places.answer.append(make("div", { class: "answer none", role: "status" }, make("p", {}, `For ${named(chosen, ranking)}: ${why}`),
    make("button", { type: "button", onclick: () => change({ formulation: "all", size: null, dimension: null, density: null, gap: null }) }, "All problems")));
  return 1;
}
