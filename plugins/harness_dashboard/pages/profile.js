/* Two profiles: the share of problems on which a solver is within a factor of the best (Dolan and Moré), and, without any
   threshold, the share that it brought to a certified gap of at most so much (quality profile). */

import { Chart, roomFor, scale } from "./chart.js";
import { clockNote } from "./figures.js";
import { alternative, choice, explained, legend, make, plain, tick } from "./parts.js";
import { apart, hidden } from "./store.js";
import { known, text, tick as tickText } from "./units.js";

export const title = "Profiles";

const COSTS = { seconds: "Time", kernel_evaluations: "Kernel values computed" };
const BANDS = 4; // solvers up to which every one has its band
const RESAMPLES = 200;
const LEAST_GAP = 1e-9;
const BUDGETS = { end: "at the end of each run", 1: "in the least time to the best gap", 2: "in 2 times that", 5: "in 5 times that", 10: "in 10 times that" };

const unit = (row) => (row.set ?? row.dataset).split("[")[0];

/* Ratio to the best solver for every problem; 1 where the two are not apart, Infinity where the target was not reached. */
export function ratios(reached, solvers, problems, { cost, target }) {
  const found = new Map(solvers.map((solver) => [solver, []]));
  const kept = [];
  for (const problem of problems) {
    const here = solvers.map((solver) => reached.get(`${solver}\n${problem}`));
    const best = d3.least(here.filter(Boolean), (row) => row[cost][target]);
    if (!best) continue; // nobody reached it: says nothing of anybody
    kept.push(problem);
    here.forEach((row, i) => found.get(solvers[i]).push(!row ? Infinity : apart(row, best, cost, target) ? Math.max(row[cost][target], 1e-12) / Math.max(best[cost][target], 1e-12) : 1));
  }
  return { found, kept };
}

/* Numbers of 0 .. below, always the same ones (a linear congruential generator, Numerical Recipes' constants). */
function* places(below) {
  for (let state = 20231; ; ) {
    state = (1664525 * state + 1013904223) >>> 0;
    yield Math.floor((state / 2 ** 32) * below);
  }
}

/* How often each data set is in each resample of all of them. */
function resamples(number) {
  const drawn = places(number);
  return Array.from({ length: RESAMPLES }, () => {
    const counts = new Array(number).fill(0);
    for (let i = 0; i < number; i += 1) counts[drawn.next().value] += 1;
    return counts;
  });
}

/* The share of problems whose value is at most `limit`, when data set u counts weights[u] times. */
function share(values, units, limit, weights) {
  let [hit, all] = [0, 0];
  values.forEach((value, i) => { const weight = weights ? weights[units[i]] : 1; all += weight; if (value <= limit) hit += weight; });
  return all ? hit / all : 0;
}

/* What the resampled data sets say of such a share: [low, high] of 95 % of them; of one data set nothing is known. */
function spread(values, units, limit, drawn) {
  if (!drawn) return null;
  const shares = drawn.map((weights) => share(values, units, limit, weights)).sort(d3.ascending);
  return [d3.quantileSorted(shares, 0.025), d3.quantileSorted(shares, 0.975)];
}

const within = (ends) => (ends ? ` (${text(ends[0], "share")} to ${text(ends[1], "share")})` : "");

/* The least and the greatest share when one data set is left out. */
function leftOut(values, units, limit, number) {
  const shares = d3.range(number).map((gone) => share(values, units, limit, d3.range(number).map((i) => Number(i !== gone))));
  return number > 1 ? d3.extent(shares) : null;
}

/* The corners of a solver's step function: [value, share] at each value of its own that is finite. */
export const corners = (values) => [...new Set(values.filter(Number.isFinite))].sort(d3.ascending).map((value) => [value, share(values, null, value)]);

/* A step function from the left edge to the right edge of the chart, in pixels. */
function steps(points, x, y, start, right) {
  const path = [[x(start), y(points[0]?.[0] === start ? points[0][1] : 0)]];
  for (const [value, height] of points) path.push([x(value), path.at(-1)[1]], [x(value), y(height)]);
  path.push([right, path.at(-1)[1]]);
  return path;
}

/* The band of a step function: at each corner where it was and where it goes. */
function band(points, ends, x, y, start, right) {
  const found = [];
  let [low, high] = [0, 0];
  if (points[0]?.[0] !== start) found.push([x(start), y(0), y(0)]);
  points.forEach(([value], i) => {
    if (value !== start) found.push([x(value), y(low), y(high)]);
    [low, high] = ends[i];
    found.push([x(value), y(low), y(high)]);
  });
  return [...found, [right, y(low), y(high)]];
}

/* Draw step functions of several solvers: values of each problem, less is better. */
function paintSteps(chart, values, units, { x, y, start, right, look, drawn, told, banded }) {
  const ends = [];
  for (const [solver, own] of values) {
    const points = corners(own);
    if (drawn && banded) chart.band(band(points, points.map(([value]) => spread(own, units, value, drawn)), x, y, start, right), look, solver);
    const path = steps(points, x, y, start, right);
    chart.curve(path, look, solver);
    for (const [value, height] of points.length ? points : [[start, 0]]) {
      chart.point({ x: x(value), y: y(height), area: 40, solver, look, data: { x: value, y: height }, told: [plain(solver), told(value, height)] });
    }
    ends.push({ x: right - 4, y: path.at(-1)[1], solver, rank: own.filter(Number.isFinite).length });
  }
  chart.ends(ends.sort((a, b) => b.rank - a.rank));
}

/* The certified gap of a run at its end, or when a budget of cost was spent; Infinity where there is none. */
function gapOf(row, targets, budget) {
  if (budget === null) return known(row.relative_gap) && row.measured ? Math.max(row.relative_gap, LEAST_GAP) : Infinity;
  const at = targets.map((_, i) => i).filter((i) => known(row.seconds_to?.[i]) && row.seconds_to[i] <= budget);
  return at.length ? targets[d3.max(at)] : Infinity;
}

/* solver -> gap of each problem. budget: "end", or how many times the least time to the best gap that any solver was certified. */
export function qualities(rows, solvers, targets, budget) {
  const byProblem = d3.group(rows.filter((row) => row.ran && solvers.includes(row.solver)), (row) => row.dataset);
  const found = new Map(solvers.map((solver) => [solver, []]));
  const kept = [];
  for (const [problem, here] of byProblem) {
    const last = d3.max(targets.map((_, i) => i).filter((i) => here.some((row) => known(row.seconds_to?.[i]))));
    if (last === undefined) continue; // nothing was ever certified
    const least = d3.min(here, (row) => row.seconds_to?.[last] ?? undefined);
    kept.push(problem);
    for (const solver of solvers) {
      const row = here.find((each) => each.solver === solver);
      found.get(solver).push(row ? gapOf(row, targets, budget === "end" ? null : Number(budget) * least) : Infinity);
    }
  }
  return { found, kept };
}

/* The rows of the problems that all of these solvers were run on; all rows where that would be less than half of the problems. */
export function inCommon(rows, solvers) {
  const ran = d3.rollup(rows.filter((row) => row.ran), (of) => new Set(of.map((row) => row.solver)), (row) => row.dataset);
  const common = new Set([...ran].filter(([, names]) => solvers.every((solver) => names.has(solver))).map(([problem]) => problem));
  return common.size * 2 >= ran.size ? rows.filter((row) => common.has(row.dataset)) : rows;
}

/* Draw quality profiles into a place; returns how many points there are. */
export function paintQuality(place, rows, { solvers, look, targets, budget, name = "quality", height = 400 }) {
  const { found, kept } = qualities(rows, solvers, targets, budget);
  const finite = [...found.values()].flat().filter(Number.isFinite);
  if (!finite.length) {
    place.replaceChildren(make("p", { class: "empty" }, "No run here has a certified gap."));
    return 0;
  }
  const { units, number } = unitsOf(rows, kept);
  const drawn = number > 1 ? resamples(number) : null;
  const chart = new Chart(place, { height, right: roomFor(solvers.map(plain)), label: `Quality profiles ${BUDGETS[budget]}` });
  const { left, right, top, bottom } = chart.box;
  const start = Math.min(...finite);
  const x = d3.scaleLog([start, Math.max(1, ...finite)], [left, right]);
  const y = scale([0, 1], false, [bottom, top], { whole: true }).domain([0, 1.02]);
  chart.axes(x, y, { x: `Certified relative gap ${BUDGETS[budget]}`, y: "Share of problems" }, { x: "gap", y: "share" });
  paintSteps(chart, found, units, {
    x, y, start, right, look, drawn, banded: solvers.length <= BANDS,
    told: (value, height) => `a certified gap of at most ${text(value, "gap")} on ${text(height, "share")} of ${kept.length} problems`,
  });
  const corner = solvers.flatMap((solver) => corners(found.get(solver)).map(([gap, height]) => ({ solver, gap, height })));
  const sure = (row) => spread(found.get(row.solver), units, row.gap, drawn); // only where the table is opened or saved
  place.append(alternative([
    { title: "Solver", value: (row) => row.solver },
    { title: "Certified gap at most", value: (row) => row.gap, cell: (row) => text(row.gap, "gap") },
    { title: "Share of problems", value: (row) => row.height, cell: (row) => text(row.height, "share") + within(sure(row)), interval: sure },
  ], corner, name));
  return chart.points.length;
}

/* The data set of each problem as a number; problems of one data set are not independent. */
function unitsOf(rows, problems) {
  const of = new Map(rows.map((row) => [row.dataset, unit(row)]));
  const names = [...new Set(problems.map((problem) => of.get(problem)))];
  return { units: problems.map((problem) => names.indexOf(of.get(problem))), number: names.length };
}

export function draw({ rows, solvers, index, look, values, places }) {
  const formulations = d3.rollups(rows.filter((row) => row.seconds_to), (found) => found.length, (row) => row.formulation ?? "").sort((a, b) => b[1] - a[1]);
  const formulation = formulations.some(([name]) => name === values.get("problem")) ? values.get("problem") : formulations[0]?.[0];
  const asked = rows.filter((row) => (row.formulation ?? "") === formulation); // solvers of other problems would only be noise
  const certified = asked.filter((row) => row.seconds_to);
  if (!certified.length) return places.empty("No run of this choice has a certified gap; traces are kept for the newest measurement of each cell.");
  const cost = values.get("cost") === "kernel_evaluations" ? "kernel_evaluations" : "seconds";
  const usual = d3.max([0, 1, 2], (i) => (certified.some((row) => known(row[`${cost}_to`]?.[i])) ? i : 0));
  const wanted = Number(values.get("target") ?? usual);
  const target = Object.hasOwn(index.targets, wanted) ? wanted : usual;
  const budget = Object.hasOwn(BUDGETS, values.get("budget") ?? "") ? values.get("budget") : "end";
  places.controls.append(
    choice("Problem", "problem", formulations.map(([name, cells]) => [name, `${name || "unknown"} (${cells} cells)`]), formulation),
    choice("Certified relative gap at most", "target", index.targets.map((value, i) => [String(i), tickText(value, "gap")]), String(target), "target"),
    choice("Cost", "cost", Object.entries(COSTS), cost, cost === "seconds" ? "time" : "evaluations"),
    choice("Quality", "budget", ["end", "1", "2", "5", "10"].map((name) => [name, BUDGETS[name]]), budget),
  );
  legend(places.legend, look, solvers, new Set(certified.map((row) => row.solver)));
  const off = hidden();
  const reached = new Map(), run = new Map();
  const blind = new Set();
  for (const row of certified.filter((each) => !off.has(each.solver))) {
    const spent = row[`${cost}_to`];
    const observable = cost === "seconds" || (known(row.kernel_evaluations) && !row.at_least) || !row.fit_seconds;
    if (!observable) { blind.add(row.solver); continue; }
    if (!run.has(row.solver)) run.set(row.solver, new Set());
    run.get(row.solver).add(row.dataset);
    if (spent && known(spent[target])) reached.set(`${row.solver}\n${row.dataset}`, row);
  }
  // A run that failed before there was a gap is a run that did not reach it.
  for (const row of asked) if (run.has(row.solver) && row.ran) run.get(row.solver).add(row.dataset);
  const shown = [...run.keys()].sort((a, b) => a.localeCompare(b));
  const all = [...new Set([...run.values()].flatMap((names) => [...names]))];
  const both = all.filter((problem) => shown.every((solver) => run.get(solver).has(problem)));
  const common = values.has("common") ? values.get("common") !== "0" : both.length * 2 >= all.length;
  places.controls.append(tick("only problems that every shown solver was run on", "common", common));
  const used = common ? both : all;
  const { found, kept } = ratios(reached, shown, used, { cost: `${cost}_to`, target });
  places.note.append(` ${kept.length} problems, of ${all.length} in all; never certified that good counts as not solved${common ? "" : ", and so does not run"}. What is not apart from the best counts as the best.`, cost === "seconds" ? clockNote(certified, "trace_clock") : "",
    blind.size ? ` Kernel values of ${[...blind].join(", ")} are not observable.` : "");
  let marks = 0;
  if (kept.length) marks += paint(places, found, { look, rows: asked, kept, label: COSTS[cost] });
  else {
    places.empty(common && both.length < all.length
      ? "There is no problem that every shown solver was run on and any brought below the target: switch solvers off, or take all problems."
      : "No solver that is switched on was certified that good; take a larger gap.");
  }
  const place = make("div");
  places.below.append(make("h2", {}, `Quality profiles ${BUDGETS[budget]}`, explained("quality-profile", "Quality profiles")), place,
    make("p", { class: "soft" }, "They need no target: the share of problems on which the certified relative gap is at most what the axis says. At the end of each run a solver that stops early is low, however fast it was; the other choices give all the same time, in steps of the gaps that are kept."));
  const quality = asked.filter((row) => !off.has(row.solver) && used.includes(row.dataset));
  marks += paintQuality(place, quality, { solvers: shown, look, targets: index.targets, budget });
  return marks;
}

function paint(places, found, { look, rows, kept, label }) {
  const solvers = [...found.keys()];
  const finite = [...found.values()].flat().filter(Number.isFinite);
  const { units, number } = unitsOf(rows, kept);
  const drawn = number > 1 ? resamples(number) : null;
  const chart = new Chart(places.figure, { height: Math.max(440, 90 + 14 * Math.min(solvers.length, 40)), right: roomFor(solvers.map(plain)), label: `Performance profiles by ${label}` });
  const { left, right, top, bottom } = chart.box;
  const x = d3.scaleLog([1, Math.max(2, ...finite) * 1.3], [left, right]);
  const y = scale([0, 1], false, [bottom, top], { whole: true }).domain([0, 1.02]);
  chart.axes(x, y, { x: `${label} as a multiple of the best`, y: "Share of problems" }, { x: "ratio", y: "share" });
  paintSteps(chart, found, units, {
    x, y, start: 1, right, look, drawn, banded: solvers.length <= BANDS,
    told: (value, height) => `${value === 1 ? "the best" : `within ${text(value, "ratio")} of the best`} on ${text(height, "share")} of ${kept.length} problems`,
  });
  const rowsOf = solvers.map((solver) => {
    const own = found.get(solver);
    const sorted = own.filter(Number.isFinite).sort(d3.ascending);
    return {
      solver, best: share(own, units, 1), sure: spread(own, units, 1, drawn), left: leftOut(own, units, 1, number),
      solved: sorted.length / own.length, half: sorted.length * 2 >= own.length ? sorted[Math.ceil(own.length / 2) - 1] : null,
      curve: corners(own).map(([value, height]) => `${text(value, "ratio")}: ${text(height, "share")}`).join(", "),
    };
  });
  places.below.append(make("p", { class: "soft" }, drawn ? `Bands, of up to ${BANDS} solvers, and intervals: 95 % of ${RESAMPLES} resamples of the ${number} data sets.` : "One data set: nothing says how far this holds for others."), alternative([
    { title: "Solver", value: (row) => row.solver },
    { title: "Best on", value: (row) => row.best, cell: (row) => text(row.best, "share") + within(row.sure), interval: (row) => row.sure },
    { title: "Best on, one data set left out", value: (row) => row.left?.[0] ?? null, cell: (row) => (row.left ? `${text(row.left[0], "share")} to ${text(row.left[1], "share")}` : "–"), interval: (row) => row.left },
    { title: "Reached the target on", value: (row) => row.solved, cell: (row) => text(row.solved, "share") },
    { title: "Factor for half of the problems", value: (row) => row.half, cell: (row) => text(row.half, "ratio") },
    { title: "Curve", note: "factor: share", value: (row) => row.curve },
  ], rowsOf.sort((a, b) => b.best - a.best), "profile"));
  return chart.points.length;
}
