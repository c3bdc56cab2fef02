/* Puts the pages together: what the address names is drawn anew whenever the address changes. */

import * as anytime from "./anytime.js";
import * as changes from "./changes.js";
import * as landing from "./landing.js";
import * as overview from "./overview.js";
import * as pareto from "./pareto.js";
import * as paths from "./paths.js";
import { choice, given, hideTip, Look, make } from "./parts.js";
import * as profile from "./profile.js";
import * as scaling from "./scaling.js";
import { address, load, rows, state } from "./store.js";
import * as two from "./two.js";
import { known } from "./units.js";

/* The pages by their names in the address. */
const PAGES = { landing, table: overview, pareto, two, profiles: profile, scaling, anytime, history: changes, path: paths };
const FIRST = "landing";
const PARTS = ["facts", "answer", "controls", "note", "legend", "figure", "below"];

/* What a test, or a reader's own script, may ask: the page that is drawn, how many marks it has, what went wrong. */
window.harnessDashboard = { page: null, drawn: 0, errors: [] };
window.addEventListener("error", (event) => window.harnessDashboard.errors.push(String(event.message)));

const part = (id) => document.getElementById(id);

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let own = null;
  try { own = localStorage.getItem("theme"); } catch { /* a browser may forbid it; then the switch lasts as long as the page */ }
  const apply = () => {
    const now = own || (dark.matches ? "dark" : "light");
    document.documentElement.dataset.theme = now;
    part("theme").textContent = now === "dark" ? "Light" : "Dark";
  };
  dark.addEventListener("change", apply);
  part("theme").addEventListener("click", () => {
    own = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", own); } catch { /* as above */ }
    apply();
  });
  apply();
}

/* The pages of asv are linked where it measured something: `index.asv`. */
function navigation(page, values, index) {
  const kept = [...values].filter(([name]) => ["off", "dataset", "place"].includes(name));
  part("pages").replaceChildren(
    ...Object.entries(PAGES).filter(([name]) => (name === "path" ? index.paths.length : index.places.length && (name !== "history" || index.places.some((place) => place.history)))).map(([name, { title }]) => make("a", { href: address(name, kept), "aria-current": name === page ? "page" : null, "data-page": name }, title)),
    index.asv ? make("a", { href: "history.html" }, "asv") : "",
  );
}

/* What has the focus is made anew with the page: find its successor by what it is for. */
function focused() {
  const { name, dataset } = document.activeElement ?? {};
  if (name) return `#controls [name="${name}"]`;
  if (dataset?.page) return `[data-page="${dataset.page}"]`;
  return document.activeElement?.matches("#legend input") ? `#legend input[data-solver="${CSS.escape(dataset.solver)}"]` : null;
}

function draw() {
  const focus = focused();
  const { page: asked, values } = state();
  const index = load("index");
  const page = index.paths.length && !index.places.length ? "path" : Object.hasOwn(PAGES, asked) ? asked : FIRST;
  const places = Object.fromEntries(PARTS.map((id) => [id, part(id)]));
  places.empty = (text) => { part("figure").replaceChildren(make("p", { class: "empty" }, text)); return 0; };
  hideTip();
  document.title = `${PAGES[page].title}: solvers side by side`;
  navigation(page, values, index);
  part("project").textContent = index.project;
  for (const id of PARTS) part(id).replaceChildren();
  part("verdict")?.toggleAttribute("hidden", page === FIRST && index.places.length > 0); // the page shows it for all problems
  let drawn = 0;
  if (page === "path") {
    landing.facts(places.facts, index.comparison, "Paths");
    drawn = index.paths.length ? paths.draw({ paths: index.paths, values, places }) : places.empty("No path was run.");
  } else if (!index.places.length) {
    if (index.comparison) landing.facts(places.facts, index.comparison, "Paths");
    part("comparison")?.setAttribute("open", ""); // there is nothing else
    places.empty(index.comparison ? "A path is a line of the table below; the pages show runs of one problem each." : "There are no results yet: harness compare makes some, then harness dashboard export and harness dashboard build.");
  } else {
    const wanted = Number(values.get("place") ?? 0);
    const number = Object.hasOwn(index.places, wanted) ? wanted : 0;
    const place = index.places[number];
    const [table, classes] = [load(`${number}-table`), load(`${number}-classes`)];
    const found = rows(table, index.figures);
    found.forEach((row, i) => { row.place = classes.place[i]; });
    const asked = found.every((row) => known(row.target_gap)) ? d3.min(found, (row) => row.target_gap) * (1 - 1e-9) : 0; // no run went for a gap below it
    if (index.places.length > 1) places.controls.append(choice("Measured on", "place", index.places.map((each, i) => [String(i), each.machine]), String(number)));
    const all = given(table.solvers);
    places.note.append(`${place.cells} cells, each as it was measured last.${all ? ` Every solver: ${all}.` : ""}`);
    drawn = PAGES[page].draw({
      rows: found, solvers: table.solvers, datasets: table.datasets, classes, landing: load(`${number}-landing`), place, series: place.history ? load(`${number}-history`) : null, traces: (i) => load(`${number}-trace-${i}`),
      figures: index.figures.filter((name) => found.some((row) => row[name] !== null)), targets: index.targets.filter((gap) => gap >= asked), look: new Look(table.solvers, table.looks), values, places, comparison: index.comparison,
    });
  }
  if (focus) document.querySelector(focus)?.focus({ preventScroll: true });
  Object.assign(window.harnessDashboard, { page, drawn });
}

function safely() {
  window.harnessDashboard.page = null;
  try {
    draw();
  } catch (error) {
    window.harnessDashboard.errors.push(String(error));
    part("figure").replaceChildren(make("p", { class: "empty" }, `This page cannot be drawn: ${error.message}.`));
    console.error(error);
  }
}

theme();
window.addEventListener("hashchange", safely);
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (width === window.innerWidth) return; // a phone's bars come and go: only the width matters
  width = window.innerWidth;
  safely();
});
part("content").addEventListener("submit", (event) => event.preventDefault());
safely();
