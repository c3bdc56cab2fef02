/* Which solver? The landing page: a sentence that answers it for a kind of problem, how sure that is, and what it rests on. */

import { Chart } from "./chart.js";
import { clockNote, disturbance, figured, timeTitle } from "./figures.js";
import { breakable, choice, make, plain, table } from "./parts.js";
import { paintScaling } from "./scaling.js";
import { address, apart, change } from "./store.js";
import { known, text, tick } from "./units.js";

export const title = "Which solver?";

const COSTS = ["seconds", "kernel_evaluations"];
const DRAWN = 15; // solvers of the chart of ranks
const FEW = 6; // data sets, below which there is no test
const FIRM = 5; // and below which the headline has their number

/* ---- the question -------------------------------------------------------------------------------------------------- */

const number = (values, name) => {
  const given = values.get(name);
  return given === null ? null : Number(given);
};

const whole = (value) => Number.isSafeInteger(value) && value > 0;

/* The place of the class that a number is in, "" where it is none. */
const classOf = (value, classes) => (whole(value) ? String(classes.findIndex(([high]) => high === null || value <= high)) : "");

/* What is asked: from the address, where a typed number decides its class. */
function asked(values, ranking) {
  const has = (name, offered, usual = "") => (offered.includes(values.get(name)) ? values.get(name) : usual);
  const counts = ranking.formulations.map((name) => [name, ranking.problems[ranking.kinds[`${name}|||`]].length]);
  const most = counts.sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
  const [n, d] = [number(values, "n"), number(values, "d")];
  return {
    formulation: values.get("formulation") === "all" ? "" : has("formulation", ranking.formulations, most),
    n, d,
    size: n === null ? has("size", ["0", "1", "2", "3"]) : classOf(n, ranking.sizes),
    dimension: d === null ? has("dimension", ["0", "1", "2"]) : classOf(d, ranking.dimensions),
    density: has("density", ["dense", "sparse"]),
    gap: Number(has("gap", ranking.targets.map((_, i) => String(i)), "1")),
    cost: has("cost", COSTS, "seconds"),
    wrong: [[n, "n"], [d, "d"]].filter(([value]) => value !== null && !whole(value)).map(([, name]) => name),
  };
}

const kindOf = ({ formulation, size, dimension, density }) => [formulation, size, dimension, density].join("|");

/* The title of a cost: a time says by which clock of these rows it is. */
const costTitle = (cost, rows) => (cost === "seconds" ? timeTitle(rows, "trace_clock") : "Kernel values computed");

/* A number to type: Enter, or leaving it, asks. */
function typed(label, name, value, emptied) {
  const input = make("input", { name, type: "number", min: 1, step: 1, inputmode: "numeric", placeholder: "any", size: 8, value: known(value) ? value : null });
  const ask = () => change({ [name]: input.value.trim() || (input.validity.badInput ? "?" : null), [emptied]: null });
  input.addEventListener("change", ask);
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); ask(); } });
  return make("label", {}, label, input);
}

/* Classes to choose from; the choice takes the place of a typed number. */
const classes = (label, name, offered, chosen, replaced) => choice(label, name, [["", "all"], ...offered.map(([, said], i) => [String(i), said])], chosen, { [replaced]: null });

function controls(places, ranking, ask, rows) {
  places.controls.append(
    choice("Problem", "formulation", [...ranking.formulations.map((name) => [name, name]), ...(ranking.formulations.length > 1 ? [["all", "all"]] : [])], ask.formulation || "all"),
    typed("Points, n =", "n", ask.n, "size"),
    classes("or points", "size", ranking.sizes, ask.size, "n"),
    typed("Dimensions, d =", "d", ask.d, "dimension"),
    classes("or dimensions", "dimension", ranking.dimensions, ask.dimension, "d"),
    choice("Density", "density", [["", "all"], ["dense", "dense"], ["sparse", `sparse: at most ${100 * ranking.sparse} % not zero`]], ask.density),
    choice("Certified gap at most", "gap", ranking.targets.map((value, i) => [String(i), tick(value, "gap")]), String(ask.gap)),
    choice("Cost", "cost", COSTS.map((cost) => [cost, costTitle(cost, rows)]), ask.cost),
  );
}

/* "c-svc, 5,000 to 50,000 points, 10 to 100 dimensions, dense, certified gap 10⁻³". */
function question(ask, ranking) {
  const said = (typed, classes, chosen, what) => {
    if (!chosen) return "";
    const [, name] = classes[chosen];
    const within = name === "more" ? `over ${classes.at(-2)[0].toLocaleString("en")}` : name;
    return typed === null ? `${within} ${what}` : `${typed.toLocaleString("en")} ${what} (${within})`;
  };
  return [
    ask.formulation || "all problems",
    said(ask.n, ranking.sizes, ask.size, "points"),
    said(ask.d, ranking.dimensions, ask.dimension, "dimensions"),
    ask.density,
    `certified gap ${tick(ranking.targets[ask.gap], "gap")}`,
  ].filter(Boolean).join(", ");
}

/* ---- the answer ---------------------------------------------------------------------------------------------------- */

const short = (value) => (value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(2))));
const ratio = (value) => (value > 0.9 && value < 1.1 ? value.toFixed(2) : short(value));
const probability = (p) => (p < 0.001 ? "p < 0.001" : `p = ${p >= 0.1 ? Number(p.toFixed(2)) : Number(p.toPrecision(2))}`);
const bare = (p) => (known(p) ? probability(p).replace("p = ", "").replace("p ", "") : "–");
const counted = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;
const sets = (count) => counted(count, "data set");
const range = (of, i, write) => (known(of[1][i]) ? `${write(of[1][i])} to ${write(of[2][i])}` : "");
const list = (names, word = "and") => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} ${word} ${names.at(-1)}`);
const compared = (of, i) => of.ahead[i] + of.equal[i] + of.behind[i];

/* The solvers, but the first, that are as good as the first by what is known: within its noise wherever both were run, or
   told apart neither by the test nor by the interval of their ratio. */
export function ties(of) {
  return of.solver.map((_, i) => i).filter((i) => {
    if (i === 0) return false;
    if (compared(of, i) > 0 && of.equal[i] === compared(of, i)) return true;
    if (known(of.p[i]) && of.p[i] < of.level) return false;
    return of.ahead[i] <= of.behind[i] || (known(of.to_first[1][i]) && of.to_first[1][i] <= 1);
  });
}

const pairs = (of) => (of.solver.length * (of.solver.length - 1)) / 2;
/* Whether no outcome of the test could tell any two apart, and the words for it: so few data sets, so many solvers. */
const blind = (of) => of.sets < FEW || of.least_p >= of.level;
const tooFew = (of) => `${sets(of.sets)} ${of.sets === 1 ? "is" : "are"} too few for a test over data sets${of.sets < FEW ? `; ${FEW} or more are needed` : ` of ${of.solver.length} solvers`}.`;

/* How often the first one had the least cost. */
function fastest(of, first) {
  const all = of.sets === 1 ? "the one data set" : `of ${sets(of.sets)}`;
  if (of.sets === 1) return of.alone[0] ? `${first} was the fastest on the one data set` : `${first} was ${of.shared[0] ? "as fast as the fastest" : "not the fastest"} on the one data set`;
  if (!of.alone[0]) return of.shared[0] ? `${first} was as fast as the fastest on ${of.shared[0]} ${all}` : `${first} was the fastest on none ${all}`;
  return `${first} was the fastest on ${of.alone[0]} ${all}${of.shared[0] ? `, and as fast as the fastest on ${of.shared[0]} more` : ""}`;
}

/* "1.8 times (1.2 to 2.9) as fast as Y". */
function asFast(of, i, name, cost) {
  const what = cost === "seconds" ? "as fast as" : "as sparing as";
  if (!of.common[i]) return `${name(i)} reached the gap on none of the data sets on which ${name(0)} did`;
  const where = of.common[i] < of.sets ? `, on the ${sets(of.common[i])} that both solved` : "";
  const within = range(of.to_first, i, ratio);
  return `${name(0)} was ${ratio(of.to_first[0][i])} times${within ? ` (${within})` : ""} ${what} ${name(i)}${where}`;
}

/* What the data sets and the test say of the first one against another. */
function against(of, i, name) {
  const all = compared(of, i);
  const [ahead, level, behind] = [of.ahead[i], of.equal[i], of.behind[i]];
  if (!all) return `${name(0)} and ${name(i)} were run on none of the same data sets.`;
  const told = level === all ? `${name(0)} and ${name(i)} differ by less than their noise on ${all === 1 ? "it" : `all ${all}`}`
    : `against ${name(i)}, ${name(0)} was ahead by more than the noise on ${ahead} of ${sets(all)}${level ? `, level on ${level}` : ""}${behind ? `, behind on ${behind}` : ""}`;
  return `${told[0] === "a" ? "A" : told[0]}${told.slice(1)}.`;
}

function test(of, i, name) {
  if (blind(of)) return tooFew(of);
  const how = `${probability(of.p[i])} by Holm's correction for ${counted(pairs(of), "pair")}, ${sets(of.sets)}`;
  if (of.p[i] < of.level) return `Wilcoxon's test tells it apart from ${name(i)} (${how}).`;
  return `Wilcoxon's test does not tell it apart from ${name(i)} (${how}).`;
}

/* How sure the answer is: against those that are as good, and against the next one after them. */
function sure(of, name, tied) {
  if (of.solver.length < 2) return [];
  const next = of.solver.map((_, i) => i).find((i) => i > 0 && !tied.includes(i));
  const told = of.sets === 1 ? ["One data set only: of others nothing is known."] : [];
  for (const i of [...tied.slice(0, 2), next]) if (i !== undefined) told.push(against(of, i, name));
  if (of.sets === 1) return told;
  told.push(test(of, next ?? tied[0], name));
  return told;
}

/* The parts of the answer as text. */
export function sentences(of, solvers, ask) {
  const name = (i) => plain(solvers[of.solver[i]]);
  const tied = ties(of);
  const next = of.solver.map((_, i) => i).find((i) => i > 0 && !tied.includes(i));
  const few = tied.length > 0 && tied.length <= 3;
  const only = of.sets < FIRM ? `; on ${sets(of.sets)} only.` : ".";
  const fast = [fastest(of, name(0))];
  if (of.solver.length < 2) fast.push("No other solver was run on half of these data sets");
  for (const i of few ? tied : tied.slice(0, 1)) fast.push(asFast(of, i, name, ask.cost));
  if (next !== undefined) fast.push(`${tied.length ? "After them: " : ""}${asFast(of, next, name, ask.cost)}${tied.length ? "" : ", the next"}`);
  if (of.solved[0] < of.ran[0] || of.ran[0] < of.all) fast.push(`${name(0)} reached the gap on ${short(of.solved[0])} of the ${of.ran[0]} that it was run on, of ${of.all} in all`);
  const means = of.solver.map((_, i) => i).filter((i) => known(of.ratio[0][i]) && of.counted[i] * 2 >= of.sets);
  const best = d3.least(means, (i) => of.ratio[0][i]);
  if (best && !tied.includes(best) && of.ratio[0][best] < of.ratio[0][0]) {
    fast.push(`By the geometric mean of costs ${name(best)} comes first; the order here is that of the mean ranks, in which a gap that was not reached counts as the slowest`);
  }
  return {
    take: few ? list([0, ...tied].map(name), "or") : name(0),
    lead: few ? `: they cannot be told apart${only}` : tied.length ? `${only} ${tied.length} others cannot be told apart from it: ${list([...tied.slice(0, 3).map(name), ...(tied.length > 3 ? [`${tied.length - 3} more`] : [])])}.` : only,
    fast: `${fast.join(". ")}.`,
    sure: sure(of, name, tied),
  };
}

function answer(of, solvers, ask, ranking) {
  const said = sentences(of, solvers, ask);
  const box = make("div", { class: "answer", role: "status" },
    of.never.length ? make("p", {}, `${list(of.never.map((i) => plain(solvers[i])))} reached the gap on no data set.`) : null,
    make("p", { class: "take" }, `For ${question(ask, ranking)}: take `, make("strong", { "data-first": solvers[of.solver[0]] }, said.take), said.lead),
    make("p", {}, said.fast));
  if (said.sure.length) box.append(make("p", { class: "sure" }, make("b", {}, "How sure: "), said.sure.join(" ")));
  return box;
}

/* Nothing was measured of this kind: what there is instead, one limit given up. */
function none(ask, ranking, found) {
  const why = found ? `No solver was certified at ${tick(ranking.targets[ask.gap], "gap")} on the ${found} problem${found === 1 ? "" : "s"} of this kind.` : "No data set of this kind was measured.";
  const limits = [["size", { size: "", n: "" }, "any number of points"], ["dimension", { dimension: "", d: "" }, "any dimension"], ["density", { density: "" }, "any density"], ["formulation", { formulation: "all" }, "any problem"]];
  const ways = limits.filter(([name]) => ask[name]).map(([name, changes, label]) => {
    const kind = ranking.kinds[kindOf({ ...ask, ...changes, ...(name === "formulation" ? { formulation: "" } : {}) })];
    const of = kind === undefined ? null : ranking.ranked[kind][ask.cost][ask.gap];
    return !of || (name === "formulation" && ranking.formulations.length < 2) ? null
      : make("li", {}, make("button", { type: "button", onclick: () => change(changes) }, label), ` (${sets(of.all)})`);
  }).filter(Boolean);
  const gaps = found ? ranking.targets.map((value, i) => [value, i]).filter(([, i]) => i !== ask.gap && ranking.ranked[ranking.kinds[kindOf(ask)]][ask.cost][i]).map(([value, i]) => make("li", {}, make("button", { type: "button", onclick: () => change({ gap: String(i) }) }, `certified gap ${tick(value, "gap")}`))) : [];
  const offered = [...gaps, ...(gaps.length ? [] : ways)];
  return make("div", { class: "answer none", role: "status" },
    make("p", { class: "take" }, `For ${question(ask, ranking)}: no answer. ${why}`),
    offered.length ? make("p", {}, "There is one for:") : make("p", {}, "Measure some: harness compare, then harness dashboard export and harness dashboard build."),
    make("ul", {}, ...offered));
}

/* ---- what it rests on ---------------------------------------------------------------------------------------------- */

function ranked(of, solvers, cost, values, cells) {
  const disturbed = cost === "seconds" ? d3.rollup(cells.filter((row) => row.disturbed), (own) => d3.greatest(own, (row) => row.disturbed), (row) => row.solver) : new Map();
  const mark = (row) => (disturbed.has(row.solver) ? disturbance(disturbed.get(row.solver), `${disturbed.get(row.solver).dataset}: `) : null);
  const rows = of.solver.map((solver, i) => ({ i, solver: solvers[solver] }));
  const here = values.get("place") ? { place: values.get("place") } : {};
  const spread = (name, write, marked = () => null) => ({
    value: (row) => of[name][0][row.i],
    cell: (row) => make("span", {}, known(of[name][0][row.i]) ? write(of[name][0][row.i]) : "–", marked(row), known(of[name][1][row.i]) ? make("small", {}, ` ${range(of[name], row.i, write).replace(" to ", "–")}`) : null),
  });
  const columns = [
    { title: "Solver", value: (row) => row.solver, cell: (row) => breakable(plain(row.solver)), attributes: (row) => ({ "data-solver": row.solver }) },
    { title: "Mean rank", note: `of ${sets(of.sets)}`, ...spread("rank", (value) => value.toFixed(1)) },
    { title: "Wins", note: "shared where not apart", value: (row) => of.wins[row.i], cell: (row) => short(of.wins[row.i]) },
    { title: "Gap reached", note: "on data sets", value: (row) => of.solved[row.i] / of.ran[row.i], cell: (row) => `${short(of.solved[row.i])} of ${of.ran[row.i]}` },
    { title: `${costTitle(cost, cells)} over the best`, note: "geometric mean, where reached", ...spread("ratio", (value) => `${ratio(value)}×`, mark) },
    { title: "Over the first", note: `where both reached${of.sets < FEW ? "" : "; intervals over data sets"}`, ...spread("to_first", (value) => `${ratio(value)}×`) },
    { title: "p against the first", note: "Wilcoxon, Holm", value: (row) => (row.i ? of.p[row.i] : null), cell: (row) => bare(row.i ? of.p[row.i] : null) },
    { title: "First ahead / level / behind", note: "data sets", value: (row) => (row.i ? of.ahead[row.i] - of.behind[row.i] : null), cell: (row) => (row.i ? `${of.ahead[row.i]} / ${of.equal[row.i]} / ${of.behind[row.i]}` : "–") },
    { title: "Side by side", value: (row) => (row.i ? row.solver : ""), cell: (row) => (row.i ? make("a", { href: address("two", { a: rows[0].solver, b: row.solver, ...here }) }, "with the first") : "") },
  ];
  return table(columns, rows, { label: "The solvers ranked", name: "ranked" });
}

/* The mean ranks with their intervals, the best on top; a line joins those of which no two are told apart. */
function ranks(target, of, solvers, look) {
  const shown = Math.min(DRAWN, of.solver.length);
  const narrow = target.clientWidth < 560;
  const step = narrow ? Math.floor((380 - 54) / Math.min(shown, 9)) : 26;
  const lines = narrow ? Math.min(shown, 9) : shown;
  const chart = new Chart(target, { height: 54 + step * lines, label: "Mean ranks" });
  const name = (i) => solvers[of.solver[i]];
  const widest = Math.max(...d3.range(lines).map((i) => chart.words(name(i)).width));
  const stretches = (of.groups ?? []).filter(([first]) => first < lines);
  const most = narrow ? 5 : 14; // lines at the right
  const left = narrow ? 12 : 16 + widest;
  const right = chart.width - 12 - 8 * Math.min(stretches.length, most);
  const last = Math.max(...d3.range(lines).map((i) => of.rank[2][i] ?? of.rank[0][i]));
  const x = d3.scaleLinear([1, Math.max(2, last)], [left + 6, right - 6]);
  const y = (i) => 8 + step * (i + (narrow ? 0.68 : 0.5));
  const bottom = 8 + step * lines;
  const axis = d3.axisBottom(x).ticks(Math.min(8, Math.max(2, Math.floor(last))));
  chart.svg.append("g").attr("class", "grid").attr("aria-hidden", "true").attr("transform", `translate(0,${bottom})`).call(d3.axisBottom(x).ticks(8).tickSize(-step * lines).tickFormat(""));
  chart.svg.append("g").attr("class", "axis x").attr("aria-hidden", "true").attr("transform", `translate(0,${bottom})`).call(axis);
  chart.svg.append("text").attr("class", "title").attr("x", right).attr("y", bottom + 34).attr("text-anchor", "end").text("Mean rank →");
  for (let i = 0; i < lines; i += 1) {
    if (known(of.rank[1][i])) chart.bar([x(of.rank[1][i]), y(i)], [x(of.rank[2][i]), y(i)], look, name(i));
    chart.write(chart.words(name(i)).short, narrow ? left : left - 8, narrow ? y(i) - 9 : y(i) + 4, name(i), narrow ? "start" : "end");
    const within = range(of.rank, i, (value) => value.toFixed(1));
    chart.point({ x: x(of.rank[0][i]), y: y(i), solver: name(i), look, data: { rank: of.rank[0][i] }, told: [plain(name(i)), `mean rank ${of.rank[0][i].toFixed(2)}${within ? ` (${within})` : ""} of ${sets(of.sets)}`] });
  }
  stretches.slice(0, most).forEach(([first, end], i) => {
    const at = right + 8 + 8 * i;
    chart.svg.append("path").attr("class", "group").attr("data-group", `${first}-${end}`).attr("d", `M${at},${y(first) - 5}V${y(Math.min(end, lines - 1)) + 5}`)
      .style("stroke", "var(--soft)").attr("stroke-width", 3).attr("stroke-linecap", "round");
  });
  if (lines < of.solver.length) target.append(make("p", { class: "soft" }, `The first ${lines} of ${of.solver.length}; the table has all.`));
  return chart.points.length;
}

/* The data sets, and who was the fastest on each. */
function problems(of, rows, ask, ranking, { targets, datasets, solvers }) {
  const target = targets.indexOf(ranking.targets[ask.gap]);
  const cost = `${ask.cost}_to`;
  const names = ranking.problems[ranking.kinds[kindOf(ask)]].map((i) => datasets[i]);
  const compared = new Set(of.solver.map((i) => solvers[i]));
  const found = [...new Set(names)].map((dataset) => {
    const here = rows.filter((row) => row.dataset === dataset && compared.has(row.solver) && known(row[cost]?.[target]) && !(row.target_gap > ranking.targets[ask.gap] * (1 + 1e-9)));
    const best = d3.least(here, (row) => row[cost][target]);
    const any = best ?? rows.find((row) => row.dataset === dataset);
    return { dataset, n: any?.n_train ?? null, d: any?.n_features ?? null, density: any?.density ?? null, best, least: best ? best[cost][target] : null,
      first: best ? here.filter((row) => !apart(row, best, cost, target)).map((row) => row.solver) : [] };
  });
  return table([
    { title: "Data set", value: (row) => row.dataset, cell: (row) => breakable(row.dataset) },
    { title: "Points", value: (row) => row.n, cell: (row) => text(row.n, "") },
    { title: "Dimensions", value: (row) => row.d, cell: (row) => text(row.d, "") },
    { title: "Not zero", value: (row) => row.density, cell: (row) => text(row.density, "share") },
    { title: "Least", note: costTitle(ask.cost, rows), value: (row) => row.least, cell: (row) => (row.best ? figured(row.best, cost, { target }) : "–") },
    { title: "Fastest", note: "all that are not apart", value: (row) => row.first.map(plain).join(", "), cell: (row) => breakable(row.first.length ? row.first.map(plain).join(", ") : "none reached the gap") },
  ], found, { label: "The data sets behind it", name: "sets" });
}

function section(target, heading, told) {
  const here = make("div");
  target.append(make("section", { class: "part" }, make("h2", {}, heading), told ? make("p", { class: "soft" }, told) : null, here));
  return here;
}

export function draw(page) {
  const { rows, solvers, datasets, ranking, targets, look, values, places } = page;
  if (!Object.keys(ranking.kinds).length) {
    return places.empty("No run here has a certified gap, so nothing can be ranked: the solvers of this machine stopped before the first one, or their problem has no certificate. The table has what they cost.");
  }
  const ask = asked(values, ranking);
  const solved = rows.filter((row) => row.seconds_to && (!ask.formulation || row.formulation === ask.formulation));
  controls(places, ranking, ask, solved);
  places.note.append(" Type how many points and dimensions you have: the answer is for data sets of that class.");
  if (ask.wrong.length) places.note.append(` ${list(ask.wrong)} must be a whole number above 0, as in 10000; without one all are taken.`);
  const kind = ranking.kinds[kindOf(ask)];
  const of = kind === undefined ? null : ranking.ranked[kind][ask.cost][ask.gap];
  if (!of) {
    places.answer.append(none(ask, ranking, kind === undefined ? 0 : ranking.problems[kind].length));
    return 1;
  }
  of.level = ranking.level;
  const kept = new Set(ranking.problems[kind].map((i) => datasets[i]));
  const here = rows.filter((row) => kept.has(row.dataset) && (!ask.formulation || row.formulation === ask.formulation));
  if (ask.cost === "seconds") places.note.append(clockNote(here, "trace_clock"));
  if (!page.comparison) places.answer.append(answer(of, solvers, ask, ranking)); // its verdict stands above
  places.figure.append(make("h2", {}, "The ranking"), ranked(of, solvers, ask.cost, values, here));
  if (of.few) places.figure.append(make("p", { class: "soft" }, `${of.few} solver${of.few === 1 ? "" : "s"} that ran on less than half of these data sets ${of.few === 1 ? "is" : "are"} left out.`));
  const joined = of.groups?.length ? " A line at the right joins solvers of which no two are told apart."
    : blind(of) && of.solver.length > 1 ? ` No line joins solvers: ${tooFew(of)}` : "";
  let marks = ranks(section(places.figure, "Mean ranks", `${of.sets < FEW ? "" : `Bars: ${100 * (1 - ranking.level)} % intervals by resampling the data sets.`}${joined}`), of, solvers, look);
  const first = of.solver.slice(0, 4).map((i) => solvers[i]);
  const growth = section(places.figure, `How the ${timeTitle(solved, "trace_clock").replace(/^[TW]/, (letter) => letter.toLowerCase())} grows with n`, "On all data sets of this problem, whatever their size.");
  marks += paintScaling(growth, rows.filter((row) => !ask.formulation || row.formulation === ask.formulation), ranking, { solvers: first, all: solvers, look, targets: targets, target: ask.gap, axis: "n_train", formulation: ask.formulation });
  const several = ranking.problems[kind].length;
  const set = section(places.below, "The data sets behind it", several > of.all ? `${several} problems on ${sets(of.all)}: problems and sizes of one data set are not independent, so they count as one together.` : "");
  set.append(problems(of, here, ask, ranking, page));
  return marks;
}
