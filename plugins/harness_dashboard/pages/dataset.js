/* A page a data set: what it is, the problems that were stated on it, and all solvers' results. */

import { aboutAll, enumerated, facts, failures, parameters, results, section, to, toSolver } from "./detail.js";
import { clockNote } from "./figures.js";
import { choice, make, plain } from "./parts.js";
import { byName, known, text } from "./units.js";

export const title = "Data sets";

const nameOf = (row) => row.set ?? row.dataset;

export async function draw({ rows, values, places, place, index, figures, latest, still }) {
  const about = await aboutAll(place, "datasets");
  if (!still()) return null;
  const sets = d3.group(rows, nameOf);
  if (!sets.size) return places.empty("Nothing was measured.");
  const names = [...sets.keys()].sort(byName);
  const asked = values.get("name") ?? values.get("dataset");
  const found = sets.has(asked) ? asked : rows.find((row) => row.dataset === asked)?.set ?? null;
  if (asked && found === null) places.note.append(` There is no data set called ${asked} here.`);
  const chosen = found ?? names[0];
  const whole = sets.get(chosen);
  const problems = d3.groups(whole, (row) => row.dataset).sort((a, b) => byName(a[0], b[0]));
  const only = problems.some(([name]) => name === asked) && problems.length > 1 ? asked : null;
  places.controls.append(choice("Data set", "name", names.flatMap((name) => {
    const own = [...new Set(sets.get(name).map((row) => row.dataset))].sort(byName);
    return [[name, own.length > 1 ? `${name}, ${own.length} problems` : name], ...(own.length > 1 ? own.map((each) => [each, `  ${each.slice(name.length + 2)}`]) : [])];
  }), only ?? chosen));
  const here = only ? whole.filter((row) => row.dataset === only) : whole;
  const stated = about.get(chosen.split("[")[0]);
  places.figure.replaceChildren(
    make("h2", { class: "name" }, chosen),
    described(stated, whole, problems, latest),
  );
  const heads = [
    { title: "Solver", value: (row) => plain(row.solver), cell: (row) => toSolver(row.solver) },
    ...(problems.length > 1 && !only ? [{ title: "Problem", value: (row) => row.dataset.slice(chosen.length + 2) }] : []),
  ];
  places.note.append(clockNote(here));
  const ordered = [...here].sort((a, b) => byName(a.dataset, b.dataset) || byName(a.solver, b.solver));
  places.below.replaceChildren(
    section("All results", results(heads, ordered, { index, figures, label: `All results on ${only ?? chosen}` })),
    section("What did not do what was asked", failures(heads, ordered)),
    ...(stated?.parameters.length ? [section("Parameters", parameters(stated.parameters))] : []),
  );
  return here.length;
}

/* The size of its training part, and what is said of it where it is installed. */
function described(stated, whole, problems, latest) {
  const first = (name) => whole.map((row) => row[name]).find(known) ?? null;
  const density = first("density");
  const share = first("positive_share");
  const regression = whole.some((row) => known(row.mse));
  const problem = ([name, own]) => {
    const shown = name.slice(nameOf(own[0]).length + 2) || name;
    const ways = [to("pareto", { dataset: name }, "Pareto front"), ...(latest.traced.has(name) ? [to("anytime", { dataset: name }, "anytime curves")] : [])];
    return make("li", {}, `${shown} (${own.length} solver${own.length === 1 ? "" : "s"}): `, ...enumerated(ways));
  };
  const [summary, ...rest] = (stated?.text ?? "").split("\n\n");
  return make("div", {},
    stated ? make("p", {}, stated.description || summary.split("\n").join(" ")) : make("p", { class: "soft" }, "It is of no source that is installed where this site was made: this is what the records say."),
    facts([
      ["Training points", text(first("n_train"), "")],
      ["Features", text(first("n_features"), "")],
      ["Not zero", known(density) ? `${text(density, "%")} of the features${density < 0.5 ? ": sparse" : ""}` : null],
      ["Test points", text(first("n_test"), "")],
      ["Classes", regression ? "none: a regression" : known(share) ? `two, ${text(share, "%")} of the training points are +1` : null],
      ["Comes from", stated ? [stated.plugin === "harness" ? "the harness" : `plugin ${stated.plugin}`, ...(stated.files.length ? [`files ${stated.files.join(", ")}`] : [])].join("; ") : null],
      ["In detail", stated && rest.length ? rest.join("\n\n") : null],
    ]),
    section(problems.length > 1 ? `${problems.length} problems` : "Problem", make("ul", {}, ...problems.map(problem))));
}
