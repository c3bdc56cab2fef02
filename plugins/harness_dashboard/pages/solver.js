/* A page a solver: what it is, all its results, what its size buys, whom to compare it with. */

import { Chart, scale } from "./chart.js";
import { aboutAll, enumerated, facts, failures, parameters, results, section, to, toDataset, toSolver } from "./detail.js";
import { clockNote } from "./figures.js";
import { alternative, choice, make, plain } from "./parts.js";
import { sweeps, tellers } from "./sweep.js";
import { byName, FIGURES, known, text } from "./units.js";

export const title = "Solvers";

export async function draw({ rows, solvers, values, places, place, latest, index, figures, look, still }) {
  const about = await aboutAll(place, "solvers");
  if (!still()) return null;
  const bases = d3.group(rows, (row) => row.base ?? row.solver);
  if (!bases.size) return places.empty("Nothing was measured.");
  const names = [...bases.keys()].sort(byName);
  const asked = values.get("name");
  const base = bases.has(asked) ? asked : rows.find((row) => row.solver === asked)?.base ?? null;
  if (asked && base === null) places.note.append(` There is no solver called ${asked} here.`);
  const chosen = base ?? names[0];
  const only = base !== null && !bases.has(asked) ? asked : null; // one configuration
  const family = bases.get(chosen);
  const variants = [...new Set(family.map((row) => row.solver))].sort(byName);
  const options = names.flatMap((name) => {
    const own = [...new Set(bases.get(name).map((row) => row.solver))].sort(byName);
    if (own.length === 1 && own[0] === name) return [[name, name]];
    return [[name, own.length > 1 ? `${name}, ${own.length} configurations` : name], ...own.filter((each) => each !== name).map((each) => [each, `  ${plain(each)}`])];
  });
  places.controls.append(choice("Solver", "name", options, only ?? chosen));
  const here = only ? family.filter((row) => row.solver === only) : family;
  const stated = about.get(chosen);
  places.figure.replaceChildren(
    make("h2", { class: "name" }, plain(only ?? chosen)),
    described(stated, family, variants),
    rivals(rows, only ?? (variants.includes(chosen) ? chosen : variants[0])),
  );
  const heads = [
    { title: "Data set", value: (row) => row.dataset, cell: (row) => toDataset(row.dataset) },
    ...(here.some((row) => row.solver !== here[0].solver) ? [{ title: "Configuration", value: (row) => plain(row.solver), cell: (row) => toSolver(row.solver) }] : []),
  ];
  const ordered = [...here].sort((a, b) => byName(a.dataset, b.dataset) || byName(a.solver, b.solver));
  places.note.append(clockNote(here));
  const drawn = sizes(places, family, { values, look, chosen });
  places.below.replaceChildren(
    section("All results", results(heads, ordered, { index, figures, label: `All results of ${plain(only ?? chosen)}` })),
    section("What did not do what was asked", failures(heads, ordered)),
    ...(stated?.parameters.length ? [section("Parameters", parameters(stated.parameters))] : []),
  );
  return here.length + drawn;
}

/* What is known of it: of an installed solver what `harness describe` says, else what the records say. */
function described(stated, family, variants) {
  const formulations = [...new Set(family.map((row) => row.formulation).filter(Boolean))].sort(byName);
  const shown = variants.slice(0, 12);
  const measured = [
    ["Measured", `${family.length} cells: ${formulations.join(", ")}`],
    ["Configurations", variants.length > 1 ? [...enumerated(shown.map((name) => toSolver(name))), variants.length > shown.length ? ` and ${variants.length - shown.length} more` : ""] : null],
    ["Other settings", [...new Set(family.map((row) => row.settings).filter(Boolean))].join("; ")],
  ];
  const plugin = family.find((row) => row.plugin)?.plugin;
  if (!stated) {
    const used = new Map();
    for (const [name, value] of family.flatMap((row) => Object.entries(row.parameters ?? {}))) used.set(name, (used.get(name) ?? new Set()).add(JSON.stringify(value)));
    return make("div", {},
      make("p", { class: "soft" }, `It is not installed where this site was made${plugin ? ` (plugin ${plugin})` : ""}: this is what the records say.`),
      facts([["Plugin", plugin], ["Parameters", [...used].map(([name, own]) => `${name} = ${[...own].join(", ")}`).join("; ")], ["Solved", formulations.join(", ")], ...measured]));
  }
  const [summary, ...rest] = stated.text.split("\n\n");
  return make("div", {},
    make("p", {}, summary.split("\n").join(" ") || "No description."),
    facts([
      ["Paper", stated.papers.length ? stated.papers.map((text) => make("p", { class: "paper" }, text)) : null],
      ["Solves", enumerated(stated.solves.map(([name, meaning]) => make("abbr", { title: meaning }, name)))],
      ["Kernel evaluations", stated.counted ? "counted by the harness" : "not observable: it computes kernel values by itself"],
      ["Converges", stated.exact ? "to the optimum" : "not necessarily to the optimum"],
      ["Plugin", [stated.plugin, stated.version].filter(Boolean).join(", ")],
      ...measured,
    ]),
    rest.length ? make("details", {}, make("summary", {}, "More of its description"), make("pre", { class: "prose" }, rest.join("\n\n"))) : null);
}

/* Ways to a comparison with each solver that was run on the same. */
function rivals(rows, name) {
  const own = new Set(rows.filter((row) => row.solver === name && row.measured).map((row) => row.dataset));
  const shared = d3.rollups(rows.filter((row) => row.solver !== name && row.measured && own.has(row.dataset)), (found) => found.length, (row) => row.solver).sort((a, b) => b[1] - a[1] || byName(a[0], b[0]));
  if (!shared.length) return make("p", {}, "No other solver was run on the same data sets.");
  return make("p", { class: "rivals" }, "Compare it with: ", ...enumerated(shared.map(([rival, cells]) => to("two", { a: name, b: rival }, `${plain(rival)} (${cells})`))), ".");
}

/* Support vectors against test error over its configurations and problems on one data set; one sweep is one line. */
function sizes(places, family, { values, look, chosen }) {
  const usable = family.filter((row) => row.measured && row.support_vectors > 0 && known(row.test_error));
  const sets = d3.rollups(usable, (own) => own.length, (row) => row.set ?? row.dataset).sort((a, b) => b[1] - a[1] || byName(a[0], b[0]));
  const several = sets.filter(([, cells]) => cells > 1);
  if (!several.length) return 0;
  const asked = values.get("dataset");
  const set = several.find(([name]) => name === asked || usable.some((row) => row.dataset === asked && row.set === name))?.[0] ?? several[0][0];
  places.controls.append(choice("Sizes on", "dataset", several.map(([name, cells]) => [name, `${name} (${cells})`]), set));
  const points = usable.filter((row) => (row.set ?? row.dataset) === set).map((row) => ({ row, x: row.support_vectors, y: row.test_error }));
  const apart = tellers(points.map(({ row }) => row));
  const told = (row) => [plain(row.solver), ...apart(row)].join(", ");
  const frame = make("div", { class: "view" });
  places.figure.append(section(`Core-set size against accuracy on ${set}`, make("p", { class: "soft" }, "Each mark is a configuration of it on a problem; a sweep over one number is joined."), frame));
  const chart = new Chart(frame, { height: 400, right: 60, label: `Test error against support vectors of ${chosen} on ${set}` });
  const { left, right, top, bottom } = chart.box;
  const x = scale(points.map((p) => p.x), true, [left, right]);
  const y = scale(points.map((p) => p.y), false, [bottom, top]);
  chart.axes(x, y, { x: FIGURES.support_vectors.title, y: FIGURES.test_error.title }, { x: "", y: "%" });
  for (const { by, points: own } of sweeps(points)) {
    const path = own.map((p) => [x(p.x), y(p.y)]);
    chart.keepClear(path);
    chart.curve(path, look, own[0].row.solver).attr("data-by", by).attr("data-points", own.length);
  }
  for (const p of points) {
    chart.point({
      x: x(p.x), y: y(p.y), area: 80, solver: p.row.solver, name: told(p.row), look, data: { dataset: p.row.dataset, x: p.x, y: p.y },
      told: [plain(p.row.solver), p.row.dataset, `${FIGURES.support_vectors.title}: ${text(p.x, "")}`, `Test error: ${text(p.y, "%")}`],
    });
  }
  chart.labels(chart.points);
  frame.append(alternative([
    { title: "Configuration", value: (p) => plain(p.row.solver) },
    { title: "Data set", value: (p) => p.row.dataset },
    { title: FIGURES.support_vectors.title, value: (p) => p.x, cell: (p) => text(p.x, "") },
    { title: FIGURES.test_error.title, unit: "%", value: (p) => p.y, cell: (p) => text(p.y, "%") },
  ], points, "sizes"));
  return chart.points.length;
}
