/* The parts that all pages are made of: choices, legend, tables, the tip beside a point. */

import { change, hidden, hide, remember, state } from "./store.js";
import { byName } from "./units.js";

const COLOURS = 8; // as in harness.report.pictures, with its marks and dashes
const DOWN = {
  draw(path, size) {
    const r = Math.sqrt(size) * 0.44;
    path.moveTo(0, 2 * r);
    path.lineTo(-1.73 * r, -r);
    path.lineTo(1.73 * r, -r);
    path.closePath();
  },
};
const SHAPES = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolStar, DOWN];
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 2"];

/* An element with attributes and children; text is only ever text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/* A name that a narrow column may break after a bracket or a comma, not in the middle of a word. */
export function breakable(name) {
  return make("span", {}, ...name.split(/(?<=[\[,(])/).flatMap((piece) => [document.createElement("wbr"), piece]));
}

/* Colour, shape and dashes of each solver, by the number that harness.report.pictures gave it: as in the terminal and in Python. */
export class Look {
  constructor(names, looks = names.map((_, i) => i)) {
    this.place = new Map(names.map((name, i) => [name, looks[i]]));
  }
  colour(solver) {
    return `var(--s${this.place.get(solver) % COLOURS})`;
  }
  shape(solver, area) {
    return d3.symbol(SHAPES[this.place.get(solver) % SHAPES.length], area)();
  }
  dash(solver) {
    return DASHES[this.place.get(solver) % DASHES.length];
  }
}

/* The mark of a solver as a drawing of its own. */
export function mark(look, solver) {
  const svg = d3.create("svg").attr("width", 26).attr("height", 14).attr("viewBox", "-13 -7 26 14").attr("aria-hidden", "true");
  svg.append("line").attr("x1", -12).attr("x2", 12).attr("stroke-width", 1.8).style("stroke", look.colour(solver)).attr("stroke-dasharray", look.dash(solver));
  svg.append("path").attr("d", look.shape(solver, 60)).style("fill", look.colour(solver));
  return svg.node();
}

/* What all solvers were given, " (target 0.0001)", is said once and not behind each name. */
let shared = "";

export function given(solvers) {
  const suffix = / \([^()]*\)$/.exec(solvers[0] ?? "")?.[0] ?? "";
  shared = solvers.length > 1 && solvers.every((name) => name.endsWith(suffix)) ? suffix : "";
  return shared.slice(2, -1);
}

export const plain = (solver) => (shared && solver.endsWith(shared) ? solver.slice(0, -shared.length) : solver);

/* A choice among values, kept in the address; others: what else it changes there. */
export function choice(title, name, options, chosen, others = {}) {
  const select = make("select", { name, onchange: () => change({ ...others, [name]: select.value }) });
  for (const [value, label] of options) select.append(make("option", { value, selected: value === chosen }, label));
  return make("label", {}, title, select);
}

/* The solvers with their marks; a box switches one off on every page. */
export function legend(target, look, solvers, present) {
  const off = hidden();
  const list = make("ul");
  const ordered = [...solvers.filter((name) => present.has(name)), ...solvers.filter((name) => !present.has(name))];
  for (const solver of ordered) {
    const box = make("input", { type: "checkbox", checked: !off.has(solver), "data-solver": solver });
    box.addEventListener("change", () => {
      if (box.checked) off.delete(solver);
      else off.add(solver);
      hide(off);
    });
    list.append(make("li", { class: present.has(solver) ? null : "absent" }, make("label", { title: present.has(solver) ? null : "has nothing to show here" }, box, mark(look, solver), plain(solver))));
  }
  target.replaceChildren(
    make("div", { class: "tools" }, `${solvers.filter((name) => !off.has(name)).length} of ${solvers.length} solvers`,
      make("button", { type: "button", onclick: () => hide([]) }, "All"),
      make("button", { type: "button", onclick: () => hide(solvers) }, "None")),
    list,
  );
}

const NOT_LAST = (value) => value === null || value === undefined || (typeof value === "number" && Number.isNaN(value));

const keyOf = (column) => (column.note ? `${column.title}, ${column.note}` : column.title);

/* The rows in the order of a column. */
function ordered(rows, column, down) {
  return [...rows].sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    if (NOT_LAST(x) || NOT_LAST(y)) return NOT_LAST(x) - NOT_LAST(y); // what is missing stands last either way
    return (down ? -1 : 1) * (typeof x === "string" ? byName(x, y) : x - y);
  });
}

/* A table whose columns sort, which is kept in the address.

   columns: title, note; value(row): a number or a text, by which it sorts; and where they are needed cell(row): node or text;
   attributes(row).
   options: label; name: what tells two tables of a page apart in the address; class; folded: a text, behind which it waits. */
export function table(columns, rows, { label = "Table", name = "", class: kind, folded = "" } = {}) {
  const sortName = name ? `sort-${name}` : "sort";
  const asked = state().values.get(sortName) ?? "";
  let down = asked.startsWith("-");
  let by = columns.find((column) => keyOf(column) === asked.replace(/^-/, ""));
  const body = make("tbody");
  const heads = columns.map((column) => make("th", { scope: "col" },
    make("button", { type: "button", onclick: () => sort(column) }, column.title, column.note ? make("small", {}, column.note) : null)));
  function draw() {
    heads.forEach((each, i) => each.setAttribute("aria-sort", columns[i] === by ? (down ? "descending" : "ascending") : "none"));
    body.replaceChildren(...(by ? ordered(rows, by, down) : rows).map((row) => make("tr", {}, ...columns.map((column, i) => make(
      i ? "td" : "th", { scope: i ? null : "row", ...column.attributes?.(row) }, column.cell ? column.cell(row) : String(column.value(row) ?? ""))))));
  }
  function sort(column) {
    down = by === column && !down;
    by = column;
    remember({ [sortName]: `${down ? "-" : ""}${keyOf(column)}` });
    draw();
  }
  draw();
  const frame = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    make("table", { class: kind }, make("caption", { hidden: true }, label), make("thead", {}, make("tr", {}, ...heads)), body));
  return folded ? make("details", { class: "folded", open: Boolean(by) }, make("summary", {}, folded), frame) : frame;
}

/* The points of a chart as a table: what a picture shows must be readable without it. */
export const alternative = (columns, rows, name = "points") => table(columns, rows, { label: "The points of the chart", name, folded: "The same as a table" });

const tip = () => document.getElementById("tip");

export function showTip(element, lines) {
  const box = tip();
  box.replaceChildren(make("b", {}, lines[0]), ...lines.slice(1).map((line) => make("div", {}, line)));
  box.hidden = false;
  const place = element.getBoundingClientRect();
  const left = Math.min(place.right + 10, document.documentElement.clientWidth - box.offsetWidth - 6);
  const above = place.top - box.offsetHeight - 8;
  box.style.left = `${Math.max(4, left) + window.scrollX}px`;
  box.style.top = `${(above > 4 ? above : place.bottom + 8) + window.scrollY}px`;
}

export function hideTip() {
  tip().hidden = true;
}
