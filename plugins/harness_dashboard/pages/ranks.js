/* Ranks over data sets: mean rank, wins and tests of each solver by what a certified gap cost it. */

import { Chart } from "./chart.js";
import { classControls, classOf, keyOf, named, none } from "./classes.js";
import { clockNote, disturbance, timeTitle } from "./figures.js";
import { breakable, choice, make, plain, table } from "./parts.js";
import { address } from "./store.js";
import { known, tick } from "./units.js";

export const title = "Ranks";

const COSTS = ["seconds", "kernel_evaluations"];
const DRAWN = 15; // solvers of the chart of ranks
const FEW = 6; // data sets, below which there is no test

const costTitle = (cost, rows) => (cost === "seconds" ? timeTitle(rows, "trace_clock") : "Kernel evaluations");
const short = (value) => (value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(2))));
const probability = (p) => (!known(p) ? "–" : p < 0.001 ? "< 0.001" : String(p >= 0.1 ? Number(p.toFixed(2)) : Number(p.toPrecision(2))));
const sets = (count) => `${count} data set${count === 1 ? "" : "s"}`;

const blind = (of, level) => of.sets < FEW || of.least_p >= level; // no outcome of the test could distinguish any two

function ranked(of, solvers, cost, values, cells, level) {
  const disturbed = cost === "seconds" ? d3.rollup(cells.filter((row) => row.disturbed), (own) => d3.greatest(own, (row) => row.disturbed), (row) => row.solver) : new Map();
  const marked = ({ solver }) => (disturbed.has(solver) ? disturbance(disturbed.get(solver), `${disturbed.get(solver).dataset}: `) : null);
  const rows = of.solver.map((solver, i) => ({ i, solver: solvers[solver] }));
  const here = values.get("place") ? { place: values.get("place") } : {};
  const columns = [
    { title: "Solver", value: (row) => row.solver, cell: (row) => breakable(plain(row.solver)), attributes: (row) => ({ "data-solver": row.solver }) },
    { title: "Mean rank", note: `of ${sets(of.sets)}`, value: (row) => of.rank[row.i], cell: (row) => make("span", {}, of.rank[row.i].toFixed(1), marked(row)) },
    { title: "Wins", note: "shared in a tie", value: (row) => of.wins[row.i], cell: (row) => short(of.wins[row.i]) },
    { title: "Gap reached", note: "on data sets", value: (row) => of.solved[row.i] / of.ran[row.i], cell: (row) => `${short(of.solved[row.i])} of ${of.ran[row.i]}` },
    { title: "First better / tie / worse", note: "data sets", value: (row) => (row.i ? of.ahead[row.i] - of.behind[row.i] : null), cell: (row) => (row.i ? `${of.ahead[row.i]} / ${of.equal[row.i]} / ${of.behind[row.i]}` : "–") },
    ...(blind(of, level) ? [] : [{ title: "p against the first", note: "Wilcoxon, Holm", value: (row) => (row.i ? of.p[row.i] : null), cell: (row) => probability(row.i ? of.p[row.i] : null) }]),
    { title: "Side by side", value: (row) => (row.i ? row.solver : ""), cell: (row) => (row.i ? make("a", { href: address("two", { a: rows[0].solver, b: row.solver, ...here }) }, "with the first") : "") },
  ];
  return table(columns, rows, { label: "The solvers ranked", name: "ranked" });
}

/* The mean ranks, the best on top; a line joins those that the test cannot distinguish. */
function ranks(target, of, solvers, look) {
  const shown = Math.min(DRAWN, of.solver.length);
  const narrow = target.clientWidth < 560;
  const step = narrow ? Math.min(40, Math.floor((380 - 54) / Math.min(shown, 9))) : 26;
  const lines = narrow ? Math.min(shown, 9) : shown;
  const chart = new Chart(target, { height: 54 + step * lines, label: "Mean ranks" });
  const name = (i) => solvers[of.solver[i]];
  const widest = Math.max(...d3.range(lines).map((i) => chart.words(name(i)).width));
  const stretches = (of.groups ?? []).filter(([first]) => first < lines);
  const most = narrow ? 5 : 14; // lines at the right
  const left = narrow ? 12 : 16 + widest;
  const right = chart.width - 12 - 8 * Math.min(stretches.length, most);
  const last = Math.max(...d3.range(lines).map((i) => of.rank[i]));
  const x = d3.scaleLinear([1, Math.max(2, last)], [left + 6, right - 6]);
  const y = (i) => 8 + step * (i + (narrow ? 0.68 : 0.5));
  const bottom = 8 + step * lines;
  const axis = d3.axisBottom(x).ticks(Math.min(8, Math.max(2, Math.floor(last))));
  chart.svg.append("g").attr("class", "grid").attr("aria-hidden", "true").attr("transform", `translate(0,${bottom})`).call(d3.axisBottom(x).ticks(8).tickSize(-step * lines).tickFormat(""));
  chart.svg.append("g").attr("class", "axis x").attr("aria-hidden", "true").attr("transform", `translate(0,${bottom})`).call(axis);
  chart.svg.append("text").attr("class", "title").attr("x", right).attr("y", bottom + 34).attr("text-anchor", "end").text("Mean rank →");
  for (let i = 0; i < lines; i += 1) {
    chart.write(chart.words(name(i)).short, narrow ? left : left - 8, narrow ? y(i) - 9 : y(i) + 4, name(i), narrow ? "start" : "end");
    chart.point({ x: x(of.rank[i]), y: y(i), solver: name(i), look, data: { rank: of.rank[i] }, told: [plain(name(i)), `mean rank ${of.rank[i].toFixed(2)} of ${sets(of.sets)}`] });
  }
  stretches.slice(0, most).forEach(([first, end], i) => {
    const at = right + 8 + 8 * i;
    chart.svg.append("path").attr("class", "group").attr("data-group", `${first}-${end}`).attr("d", `M${at},${y(first) - 5}V${y(Math.min(end, lines - 1)) + 5}`)
      .style("stroke", "var(--soft)").attr("stroke-width", 3).attr("stroke-linecap", "round");
  });
  if (lines < of.solver.length) target.append(make("p", { class: "soft" }, `The first ${lines} of ${of.solver.length}; the table has all.`));
  return chart.points.length;
}

export function draw({ rows, solvers, ranking, look, values, places }) {
  const most = d3.greatest(ranking.formulations, (name) => ranking.problems[ranking.kinds[`${name}|||`]].length) ?? "";
  const chosen = classOf(values, ranking, most);
  const kind = ranking.kinds[keyOf(chosen)];
  const usual = String(Math.min(1, ranking.targets.length - 1));
  const gap = Number(Object.hasOwn(ranking.targets, values.get("gap") ?? "") ? values.get("gap") : usual);
  const cost = COSTS.includes(values.get("cost")) ? values.get("cost") : "seconds";
  const here = rows.filter((row) => kind !== undefined && ranking.problems[kind].includes(row.place));
  classControls(places.controls, ranking, chosen);
  places.controls.append(
    choice("Certified gap at most", "gap", ranking.targets.map((value, i) => [String(i), tick(value, "gap")]), String(gap)),
    choice("Cost", "cost", COSTS.map((each) => [each, costTitle(each, here)]), cost));
  if (kind === undefined) return none(places, chosen, ranking);
  const of = ranking.ranked[kind][cost][gap];
  if (!of) return none(places, chosen, ranking, `no solver was certified at ${tick(ranking.targets[gap], "gap")}.`);
  if (cost === "seconds") places.note.append(clockNote(here, "trace_clock"));
  if (of.never.length) places.answer.append(make("p", {}, `${of.never.map((i) => plain(solvers[i])).join(", ")} reached the gap on no data set.`));
  places.figure.append(make("h2", {}, `${named(chosen, ranking)}, certified gap ${tick(ranking.targets[gap], "gap")}`), ranked(of, solvers, cost, values, here, ranking.level));
  if (of.few) places.figure.append(make("p", { class: "soft" }, `Left out: ${of.few} that ran on less than half of these data sets.`));
  places.figure.append(make("p", { class: "soft" }, blind(of, ranking.level) ? `${sets(of.sets)} ${of.sets === 1 ? "is" : "are"} too few for a test over data sets${of.sets < FEW ? `; ${FEW} or more are needed` : ` of ${of.solver.length} solvers`}.`
    : "A line at the right joins solvers that the test cannot distinguish."));
  const chart = make("div");
  places.figure.append(chart);
  return ranks(chart, of, solvers, look);
}
