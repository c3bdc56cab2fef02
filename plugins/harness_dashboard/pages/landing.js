/* The first page: the four figures and the failures of each solver, in one table, on a class of problems. */

import { classControls, classOf, keyOf, named, none } from "./classes.js";
import { mark, make, table } from "./parts.js";
import { text } from "./units.js";

export const title = "Overview";

const FIGURES = { time: ["Time", "s"], evaluations: ["Kernel evals", ""], core_set: ["Core set", ""], accuracy: ["Test %", "percent"] };
const two = (value) => (value >= 99.5 ? String(Math.round(value)) : String(Number(value.toPrecision(2)))); // as in the sentence
const counted = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;

/* What was measured, by which command, when and where. */
export function facts(target, { command, date, machine, commit }, heading) {
  target.append(make("h2", {}, heading), command ? make("pre", { tabindex: "0", "aria-label": "Command" }, command) : "",
    make("p", { class: "soft" }, [date, machine, commit && `commit ${commit}`].filter(Boolean).join(" · ")));
}

export function draw({ landing, classes, values, place, places, look, solvers, comparison }) {
  const chosen = classOf(values, classes);
  const kind = classes.kinds[keyOf(chosen)];
  const whole = keyOf(chosen) === "|||";
  classControls(places.controls, classes, chosen);
  if (kind === undefined) return none(places, chosen, classes);
  const { sentences, gap, sets, lines } = landing.classes[kind];
  facts(places.facts, place, `${counted(new Set(lines.map((line) => line.name)).size, "solver")} on ${counted(sets, "data set")}${whole ? "" : `: ${named(chosen, classes)}`}`);
  if (whole && comparison) document.getElementById("verdict")?.removeAttribute("hidden"); // the same sentences
  else if (sentences.length) places.answer.append(make("div", { class: "answer", role: "status" }, ...sentences.map((each) => make("p", {}, make("strong", {}, each)))));
  const clocks = new Set(lines.map((line) => line.clock).filter(Boolean));
  const several = new Set(lines.map((line) => line.formulation)).size > 1;
  const cell = (figure, unit) => (line) => {
    const found = line.values?.[figure];
    const part = found && found[1] < line.all ? make("small", { class: "ends" }, `on ${found[1]} of ${line.all}`) : null;
    const ratio = figure === "time" && line.ratio ? make("small", { class: "ends" }, `${two(line.ratio[0])}× (${line.ratio.slice(1).map(two).join(" to ")})`) : null;
    return make("span", {}, text(unit === "" && found ? Math.round(found[0]) : found?.[0], unit), part, ratio);
  };
  const columns = [
    { title: "Solver", value: (line) => line.name, attributes: (line) => ({ "data-solver": solvers[line.solver] }),
      cell: (line) => make("span", { class: "named" }, mark(look, solvers[line.solver]), make("span", {}, line.name, several && line.formulation ? make("small", { class: "ends" }, line.formulation) : null)) },
    ...Object.entries(FIGURES).map(([figure, [heading, unit]]) => ({
      title: figure === "time" && clocks.size === 1 ? [...clocks][0].replace(/^./, (letter) => letter.toUpperCase()) : heading,
      note: figure === "time" ? (gap ? `to gap ${gap}` : "until it stopped") : undefined,
      value: (line) => line.values?.[figure]?.[0] ?? null, cell: cell(figure, unit),
      attributes: (line) => ({ "data-figure": figure, "data-value": line.values?.[figure]?.[0] ?? null, class: line.best?.includes(figure) ? "best" : null }),
    })),
    { title: "Failures", value: (line) => line.failed,
      cell: (line) => make("span", { class: line.failed ? "status" : null }, `${line.failed} of ${line.runs}`, line.failed ? make("small", { class: "ends" }, line.status) : null) },
  ];
  places.figure.append(table(columns, lines, { label: "The figures of each solver", name: "landing", class: "landing" }));
  const most = d3.max(lines, (line) => line.all);
  places.note.append(
    most > 1 ? " Geometric means over the problems; of the accuracy the mean." : "",
    lines.some((line) => line.ratio) ? ` Below a time: how many times that of the fastest${several ? " of its problem" : ""}, and between which values that ratio lies, as in the sentence.` : "",
    lines.some((line) => line.best?.length) ? " Shaded: the best, and what cannot be distinguished from it." : "", lines.some((line) => line.failed) ? " Solvers with a failed run are not ranked." : "",
    !gap && several ? " Each stopped by its own rule, so times are not ranked." : "");
  return lines.length;
}
