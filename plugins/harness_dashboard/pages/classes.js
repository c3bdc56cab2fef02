/* The class of problems that a page is about: formulation, number of points, dimension, density. */

import { choice, make } from "./parts.js";
import { change } from "./store.js";

const AXES = ["formulation", "size", "dimension", "density"];

export const keyOf = (chosen) => AXES.map((axis) => chosen[axis]).join("|");

/* The class in the address. */
export function classOf(values, classes) {
  const offered = { formulation: classes.formulations, size: ["0", "1", "2", "3"], dimension: ["0", "1", "2"], density: ["dense", "sparse"] };
  return Object.fromEntries(AXES.map((axis) => [axis, offered[axis].includes(values.get(axis)) ? values.get(axis) : ""]));
}

/* A choice for each axis on which the problems differ. */
export function classControls(target, classes, chosen) {
  const labels = {
    formulation: Object.fromEntries(classes.formulations.map((name) => [name, name])),
    size: Object.fromEntries(classes.sizes.map(([, label], i) => [i, label])),
    dimension: Object.fromEntries(classes.dimensions.map(([, label], i) => [i, label])),
    density: { dense: "dense", sparse: `sparse: at most ${100 * classes.sparse} % not zero` },
  };
  const titles = { formulation: "Problem", size: "Points", dimension: "Dimensions", density: "Density" };
  for (const axis of AXES) {
    const present = Object.keys(labels[axis]).filter((value) => Object.hasOwn(classes.kinds, keyOf({ formulation: "", size: "", dimension: "", density: "", [axis]: value })));
    if (present.length > 1 || chosen[axis]) target.append(choice(titles[axis], axis, [["all", "all"], ...present.map((value) => [value, labels[axis][value]])], chosen[axis] || "all"));
  }
}

/* "c-svc, 1,000 to 5,000 points, dense". */
export function named(chosen, classes) {
  const label = (classes, value, what) => value && `${classes[value][1] === "more" ? `over ${classes.at(-2)[0].toLocaleString("en")}` : classes[value][1]} ${what}`;
  return [chosen.formulation || "all problems", label(classes.sizes, chosen.size, "points"), label(classes.dimensions, chosen.dimension, "dimensions"), chosen.density].filter(Boolean).join(", ");
}

/* What is drawn where no problem is of a class. */
export function none(places, chosen, classes) {
  places.answer.append(make("div", { class: "answer none", role: "status" }, make("p", {}, `For ${named(chosen, classes)}: no data set of this class was measured.`),
    make("button", { type: "button", onclick: () => change({ formulation: "all", size: null, dimension: null, density: null }) }, "All problems")));
  return 1;
}
