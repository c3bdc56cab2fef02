/* Two solvers: a ratio for each cell with its interval, and what that makes over all data sets. */

import { Chart } from "./chart.js";
import { clockNote, figured } from "./figures.js";
import { choice, make, plain, table } from "./parts.js";
import { address, apart, competes, interval, unit, valueOf } from "./store.js";
import { byName, known, text } from "./units.js";

export const title = "Compare two";

const COMPARED = { // target: the figure has a value for each certified gap
  seconds_to: { title: "Time to a certified gap", unit: "s", target: true },
  kernel_evaluations_to: { title: "Kernel evaluations to a certified gap", unit: "", target: true },
  time: { title: "Time until it stopped", unit: "s" },
  kernel_evaluations: { title: "Kernel evaluations until it stopped", unit: "" },
};
const MOST = 60; // rows of a chart
const LONGEST = 56; // letters of a row's name; the tip has the whole

/* What b needs over what a needs. low, high: it lies between these wherever both figures lie in their intervals. better: the one
   that needs less, where they can be distinguished; alone: the one that has the figure, where the other ran and never got there;
   neither: both ran and none got there. target: the place of a gap, and gap itself; a run that was asked to stop at a larger
   one says nothing of it. within: the range of the ratio, where the verdict has it. */
export function quotient(a, b, figure, target = null, gap = null, within = null) {
  const asked = (row) => target === null || !known(row.target_gap) || row.target_gap <= gap * (1 + 1e-9);
  const has = (row) => asked(row) && (target === null ? competes(row, figure) : row.measured) && valueOf(row, figure, target) > 0;
  const unseen = (row) => figure.startsWith("kernel") && row.measured && (row.at_least || !known(row.kernel_evaluations));
  const never = (row) => row.ran && asked(row) && !has(row) && !unseen(row);
  const nothing = { ratio: null, low: null, high: null, better: null, alone: null, neither: false };
  const clock = { time: "clock", seconds_to: "trace_clock" }[figure];
  if (clock && a[clock] !== b[clock]) return nothing;
  if (!has(a) || !has(b)) {
    const alone = has(a) && never(b) ? "a" : has(b) && never(a) ? "b" : null;
    return { ...nothing, better: alone, alone, neither: target !== null && never(a) && never(b) };
  }
  const [x, y] = [interval(a, figure, target), interval(b, figure, target)];
  const ratio = valueOf(b, figure, target) / valueOf(a, figure, target);
  if (within) return { ...nothing, ratio, low: within[0], high: within[1], better: within[0] > 1 ? "a" : within[1] < 1 ? "b" : null };
  const better = apart(a, b, figure, target) ? (ratio > 1 ? "a" : "b") : null;
  return { ...nothing, ratio, low: y[0] / x[1], high: y[1] / x[0], better };
}

/* The geometric mean over data sets, each with the same weight, and between which values the ratio lies on any cell, as in the verdict. */
export function geometricMean(quotients) {
  const logs = d3.groups(quotients, (pair) => unit(pair)).map(([, own]) => d3.mean(own, (each) => Math.log(each.ratio)));
  return logs.length ? { ratio: Math.exp(d3.mean(logs)), low: d3.min(quotients, (each) => each.low), high: d3.max(quotients, (each) => each.high), sets: logs.length } : null;
}

export function draw(page) {
  const { values, places, targets } = page;
  const sides = chosen(page);
  if (!sides) return 0;
  const offered = Object.keys(COMPARED).filter((name) => sides.pairs.some(({ a, b }) => (COMPARED[name].target ? a[name]?.some(known) && b[name]?.some(known) : known(a[name]) && known(b[name]))));
  if (!offered.length) return places.empty(`${sides.names.join(" and ")} have no figure in common: one of them has no result.`);
  const asked = sides.pairs.every(({ a, b }) => known(a.target_gap) && a.target_gap === b.target_gap); // then the end is what the target cost
  const figure = offered.includes(values.get("figure")) ? values.get("figure") : asked && offered.includes("time") ? "time" : offered[0];
  const usual = targets.findIndex((gap) => gap <= 1.001e-3);
  const target = COMPARED[figure].target ? Math.min(targets.length - 1, Math.max(0, Number(values.get("target") ?? usual))) : null;
  places.controls.append(choice("Figure", "figure", offered.map((name) => [name, COMPARED[name].title]), figure));
  if (target !== null) places.controls.append(choice("Certified relative gap at most", "target", targets.map((gap, i) => [String(i), text(gap, "gap")]), String(target)));
  const ranges = figure === "time" ? rangesOf(page, sides.keys) : new Map();
  const pairs = sides.pairs.map((pair) => ({ ...pair, ...quotient(pair.a, pair.b, figure, target, targets[target], ranges.get(pair.a.place)), set: pair.a.set ?? pair.dataset }));
  return paint(places, sides, pairs, { figure, target });
}

/* Between which values the ratios of two solvers' times lie, by the problem: those that the verdict is made of. */
function rangesOf({ landing, solvers }, { a, b }) {
  const [one, other] = [solvers.indexOf(a), solvers.indexOf(b)];
  return new Map(landing.ratios.filter(([, x, y]) => (x === one && y === other) || (x === other && y === one)).map(([problem, x, , low, high]) => [problem, x === one ? [low, high] : [1 / high, 1 / low]]));
}

/* The two solvers that are asked for, and the cells that they have in common; null where there are none, and the page says so. */
function chosen({ rows, solvers, values, places, look, landing, classes }) {
  const own = d3.group(rows, (row) => row.solver);
  const present = solvers.filter((name) => own.has(name));
  if (present.length < 2) { places.empty("There is only one solver here; compare takes two."); return null; }
  const on = (name) => new Map(own.get(name).map((row) => [row.dataset, row]));
  const common = (one, other) => [...on(one).keys()].filter((dataset) => on(other).has(dataset)).length;
  const order = landing.classes[classes.kinds["|||"]].lines.map((line) => solvers[line.solver]); // the fastest first
  const ordered = [...new Set([...order, ...present])].filter((name) => own.has(name));
  const called = (asked) => present.find((name) => name === asked || plain(name) === asked);
  const first = called(values.get("a")) ?? ordered.find((name) => name !== called(values.get("b")));
  const second = called(values.get("b")) ?? d3.greatest(ordered.filter((name) => name !== first), (name) => common(first, name)); // of equals the first: the runner-up
  for (const side of ["a", "b"]) {
    const wanted = values.get(side);
    if (wanted && !called(wanted)) places.note.append(` There is no solver called ${wanted} here: ${side === "a" ? first : second} stands in its place.`);
  }
  const names = present.map((name) => [name, plain(name)]);
  places.controls.append(choice("Solver", "a", names, first), choice("with", "b", names, second));
  if (first === second) { places.empty(`Both are ${plain(first)}: choose another solver.`); return null; }
  places.controls.append(make("a", { class: "beside", href: address("two", { ...Object.fromEntries(values), a: second, b: first }) }, "Swap them"));
  const [left, right] = [on(first), on(second)];
  const pairs = [...left.keys()].filter((dataset) => right.has(dataset)).sort(byName).map((dataset) => ({ a: left.get(dataset), b: right.get(dataset), dataset }));
  const list = (cells) => [...cells.keys()].slice(0, 4).join("; ");
  if (!pairs.length) { places.empty(`${plain(first)} and ${plain(second)} share no data set with the same problem and kernel: ${plain(first)} was run on ${list(left)}; ${plain(second)} on ${list(right)}.`); return null; }
  return { names: [plain(first), plain(second)], keys: { a: first, b: second }, pairs, look };
}

/* The sentences above the chart; first who got there at all: a mean is of those cells alone where both did. One needs less if it
   clearly does on some cell, and the other on none. */
function answered(pairs, mean, cells, sides, there) {
  const [one, other] = sides.names;
  const count = (test) => pairs.filter(test).length;
  const alone = [["a", one], ["b", other]].map(([side, name]) => [name, count((p) => p.alone === side)]).filter(([, number]) => number);
  const [a, b] = ["a", "b"].map((side) => count((p) => p.ratio !== null && p.better === side));
  const [neither, none] = [count((p) => p.neither), count((p) => p.ratio === null && !p.alone && !p.neither)];
  const less = a && !b ? one : b && !a ? other : null;
  const box = make("p", { class: "answer" }, ...alone.map(([name, number]) => make("strong", {}, `${name} alone ${there} on ${number} of ${pairs.length} cells. `)));
  if (mean) {
    box.append(`${alone.length + neither ? `Where both ${there}, ` : ""}${other} needs ${text(mean.ratio, "ratio")} what ${one} needs (${ends(mean)}), the geometric mean over ${mean.sets} data set${mean.sets > 1 ? "s" : ""}: `,
      make("strong", { "data-verdict": less ? "apart" : "even" }, less ? `${less} needs less` : a ? "it depends on the data set" : "they cannot be distinguished"),
      `. ${one} clearly needs less on ${a}, ${other} on ${b} of ${cells} cells.`);
  }
  box.append(neither ? ` Neither ${there} on ${neither}.` : "", none ? ` ${none} cannot be compared.` : "");
  return box;
}

function paint(places, sides, pairs, { figure, target }) {
  const [one, other] = sides.names;
  const known = pairs.filter((pair) => pair.ratio !== null);
  const mean = geometricMean(known);
  const measure = COMPARED[figure].unit;
  const answer = answered(pairs, mean, known.length, sides, target === null ? "did what was asked" : "got there");
  places.note.append(` ${COMPARED[figure].title}. The ratio lies on its bar. Filled mark: it does not hold 1.`,
    mean ? " The bar of the mean goes over those of all cells." : "",
    target === null ? " Each stopped where its own rule says; their gaps are in the table." : "");
  if (measure === "s") places.note.append(clockNote(pairs.flatMap(({ a, b }) => [a, b]), target === null ? "clock" : "trace_clock"));
  const frame = make("div", { class: "view" });
  places.figure.append(answer, frame);
  const shown = [...known].sort((x, y) => Math.abs(Math.log(y.ratio)) - Math.abs(Math.log(x.ratio))).slice(0, MOST);
  if (known.length > MOST) places.note.append(` The chart has the ${MOST} cells that differ most, the table all.`);
  if (shown.length) new Dots(frame, known.filter((pair) => shown.includes(pair)), mean, sides, `${COMPARED[figure].title}: ${other} over ${one}`).paint(measure, figure, target);
  places.below.append(tableOf(pairs, sides, { figure, target }));
  return pairs.length;
}

const ends = ({ low, high }) => `${text(low, "ratio")} to ${Number.isFinite(high) ? text(high, "ratio") : "any"}`;

function tableOf(pairs, sides, { figure, target }) {
  const [one, other] = sides.names;
  const told = (pair) => (pair.alone ? `only ${pair.alone === "a" ? one : other}` : pair.neither ? "neither got there" : pair.ratio === null ? "cannot be compared" : pair.better ? (pair.better === "a" ? one : other) : "a tie");
  const side = (name, which) => ({
    title: name, note: COMPARED[figure].title.toLowerCase(), value: (pair) => (pair[which].measured ? valueOf(pair[which], figure, target) : null),
    cell: (pair) => (pair[which].measured ? figured(pair[which], figure, { target }) : make("span", { class: "status", title: pair[which].reason }, pair[which].status)),
  });
  const columns = [
    { title: "Data set", value: (pair) => pair.dataset },
    { title: "Ratio", note: `${other} / ${one}`, value: (pair) => pair.ratio,
      cell: (pair) => make("span", {}, text(pair.ratio, "ratio"), pair.ratio === null ? null : make("small", { class: "ends" }, ends(pair))),
      attributes: (pair) => ({ "data-dataset": pair.dataset, "data-value": pair.ratio, "data-low": pair.low, "data-high": pair.high, "data-better": pair.better ?? "" }) },
    { title: "Needs less", value: told },
    side(one, "a"), side(other, "b"),
  ];
  return table(columns, pairs, { label: `${COMPARED[figure].title}: ${other} over ${one}`, name: "cells" });
}

const TICKS = [1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000, 1e4, 1e5, 1e6];

/* A dot for each cell with its interval, a line where both need the same, and the mean below. */
class Dots extends Chart {
  constructor(target, pairs, mean, sides, label) {
    super(target, { label });
    Object.assign(this, { pairs, mean, sides });
    const wide = Math.max(...this.names().map((name) => this.fitting(name).width));
    this.row = this.narrow ? 36 : 24; // a phone has the names above the dots
    this.height = 62 + this.row * (pairs.length + 1) + 20;
    this.svg.attr("viewBox", `0 0 ${this.width} ${this.height}`).attr("height", this.height);
    this.box = { left: this.narrow ? 14 : Math.min(wide + 22, this.width * 0.5), right: this.width - 20, top: 34, bottom: this.height - 44 };
  }

  /* A name as a row may have it: longer than beside a point. */
  fitting(name) {
    const short = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
    return { short, width: this.words("").width + Chart.pen.measureText(short).width };
  }

  /* As short as they can be without two being the same: the data set, its problem, its kernel. */
  names() {
    const parts = (pair, most) => [pair.set, ...[pair.a.problem, pair.a.kernel].slice(0, most)].filter(Boolean).join(", ");
    const several = (most) => new Set(d3.rollups(this.pairs, (own) => own.length, (pair) => parts(pair, most)).filter(([, cells]) => cells > 1).map(([name]) => name));
    const twice = [0, 1].map(several);
    return [...this.pairs.map((pair) => parts(pair, twice[0].has(parts(pair, 0)) ? (twice[1].has(parts(pair, 1)) ? 2 : 1) : 0)), "geometric mean"];
  }

  axis() {
    const { left, right, top, bottom } = this.box;
    const values = [...this.pairs, this.mean].flatMap(({ ratio, low, high }) => [ratio, low, high]).filter((value) => Number.isFinite(value) && value > 0);
    const reach = Math.max(1.6, ...values.map((value) => Math.max(value, 1 / value))) * 1.1; // as far to either side, so that neither looks worse
    const [low, high] = d3.extent([...values, 1 / 1.6, 1.6]);
    const x = d3.scaleLog([Math.max(low / 1.1, 1 / reach), Math.min(high * 1.1, reach)], [left, right]);
    const room = (right - left) / 52;
    const inside = [...TICKS.slice(1).map((tick) => 1 / tick), ...TICKS].filter((tick) => tick >= x.domain()[0] && tick <= x.domain()[1]).sort(d3.ascending);
    const least = Math.log(x.domain()[1] / x.domain()[0]) / room;
    const ticks = inside.filter((tick) => tick === 1 || Math.abs(Math.log(tick)) > least).reduce((kept, tick) => (tick === 1 || !kept.length || Math.log(tick / kept.at(-1)) >= least ? [...kept, tick] : kept), []);
    const form = (tick) => `${Number(tick.toPrecision(3))}×`;
    this.svg.append("g").attr("class", "grid").attr("transform", `translate(0,${bottom})`).attr("aria-hidden", "true").call(d3.axisBottom(x).tickValues(ticks).tickSize(top - bottom).tickFormat(""));
    this.svg.append("g").attr("class", "axis x").attr("transform", `translate(0,${bottom})`).attr("aria-hidden", "true").call(d3.axisBottom(x).tickValues(ticks).tickFormat(form));
    this.svg.append("path").attr("class", "one").attr("d", `M${x(1)},${top - 8}V${bottom}`);
    const [less, more] = this.sides.names.toReversed().map((name) => `less: ${name}`);
    const words = (text, at, anchor) => this.svg.append("text").attr("class", "title").attr("x", at).attr("y", 14).attr("text-anchor", anchor).text(text);
    words(`◂ ${this.words(less).short}`, left, "start");
    words(`${this.words(more).short} ▸`, right, "end");
    this.svg.append("text").attr("class", "title").attr("x", right).attr("y", this.height - 6).attr("text-anchor", "end").text(`${this.sides.names[1]} / ${this.sides.names[0]} →`);
    return x;
  }

  paint(unit, figure, target) {
    const { left, right, top } = this.box;
    const x = this.axis();
    const { look, keys } = this.sides;
    const even = { colour: () => "var(--back)", shape: (_, area) => d3.symbol(d3.symbolCircle, area)() };
    const inside = (value) => Math.min(right, Math.max(left, x(value)));
    const names = this.names();
    const line = ({ ratio, low, high }, i, better, told, data) => {
      const y = top + this.row * (i + (this.narrow ? 0.75 : 0.5));
      const side = keys[better] ?? "a tie";
      this.svg.append("text").attr("class", i === this.pairs.length ? "name mean" : "name").attr("x", this.narrow ? left : left - 10).attr("y", this.narrow ? y - 11 : y + 4)
        .attr("text-anchor", this.narrow ? "start" : "end").attr("aria-hidden", "true").text(this.fitting(names[i]).short);
      this.bar([inside(low), y], [inside(high), y], better ? look : { colour: () => "var(--soft)" }, side);
      this.point({ x: inside(ratio), y, area: i === this.pairs.length ? 130 : 70, solver: side, name: names[i], look: better ? look : even, data, told });
      this.points.at(-1).element.classList.toggle("even", !better);
    };
    this.pairs.forEach((pair, i) => line(pair, i, pair.better, [names[i], `${this.sides.names[1]} over ${this.sides.names[0]}: ${text(pair.ratio, "ratio")}, ${ends(pair)}`,
      ...["a", "b"].map((which, n) => `${this.sides.names[n]}: ${text(valueOf(pair[which], figure, target), unit)}`), pair.better ? "clearly different" : "a tie"],
    { dataset: pair.dataset, ratio: pair.ratio, low: pair.low, high: pair.high, better: pair.better ?? "" }));
    const sure = this.mean.low > 1 ? "a" : this.mean.high < 1 ? "b" : null;
    line(this.mean, this.pairs.length, sure, ["geometric mean", `${text(this.mean.ratio, "ratio")}, ${ends(this.mean)}`, sure ? "clearly different" : "a tie"], { dataset: "mean", ratio: this.mean.ratio, low: this.mean.low, high: this.mean.high, better: sure ?? "" });
  }
}
