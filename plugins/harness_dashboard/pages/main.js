/* Puts the pages together: what the address names is drawn anew whenever the address changes. */

import * as anytime from "./anytime.js";
import * as coresets from "./coresets.js";
import * as dataset from "./dataset.js";
import * as glossary from "./glossary.js";
import * as overview from "./overview.js";
import * as pareto from "./pareto.js";
import { choice, given, hideTip, Look, make } from "./parts.js";
import * as profile from "./profile.js";
import * as scaling from "./scaling.js";
import { findable, search } from "./search.js";
import { address, load, rows, state } from "./store.js";
import * as solver from "./solver.js";
import * as two from "./two.js";
import * as which from "./which.js";

/* The pages in groups, by their names in the address. */
const GROUPS = [
  { which },
  { table: overview, pareto, two, solver, dataset },
  { profiles: profile, scaling, anytime, coresets },
  { glossary },
];
const PAGES = Object.assign({}, ...GROUPS);
const FIRST = Object.keys(PAGES)[0];
const OF_ASV = /^(summarylist|regressions)$|\./;
const COMMANDS = "harness compare --plugins smo,lasvm --datasets digits,twonorm\nharness dashboard export\nharness dashboard build";

/* What a test, or a reader's own script, may ask: the page that is drawn, by which address, how many marks it has, what went wrong. */
window.harnessDashboard = { page: null, address: null, drawn: 0, errors: [] };
window.addEventListener("error", (event) => window.harnessDashboard.errors.push(String(event.message)));
window.addEventListener("unhandledrejection", (event) => window.harnessDashboard.errors.push(String(event.reason)));

const part = (id) => document.getElementById(id);
let turn = 0;
let last = null; // the page that was drawn

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

/* asv's pages are linked where they have curves to show: `index.history`. */
function navigation(page, values, index) {
  const kept = new URLSearchParams([...values].filter(([name]) => ["off", "dataset", "place", "commit"].includes(name)));
  const link = ([name, { title }]) => make("a", { href: address(name, kept), "aria-current": name === page ? "page" : null, "data-page": name }, title);
  const groups = GROUPS.map((group) => make("div", {}, ...Object.entries(group).map(link)));
  part("pages").replaceChildren(...groups, ...(index.history ? [make("div", {}, make("a", { href: "history.html" }, "History (asv)"))] : []));
  part("menu").replaceChildren(PAGES[page].title);
  part("menu").setAttribute("aria-label", `Pages, now ${PAGES[page].title}`);
  fold(true);
}

/* On a narrow screen the pages' names wait behind a button. */
function fold(away) {
  part("menu").setAttribute("aria-expanded", String(!away));
}

/* What the box in the header finds; a solver or a data set without a page of its own is found in the table. */
function names(latest, values) {
  const kept = [...values].filter(([name]) => ["place", "commit"].includes(name));
  const to = (page, ...more) => address(page, new URLSearchParams([...kept, ...more]));
  const own = (page, name, otherwise) => (Object.hasOwn(PAGES, page) ? to(page, ["name", name]) : to("table", ...otherwise));
  return [
    ...Object.entries(PAGES).map(([page, { title }]) => ["page", title, to(page)]),
    ...latest.solvers.map((name) => ["solver", name, own("solver", name, [])]),
    ...latest.datasets.map((name) => ["data set", name, own("dataset", name, [["dataset", name]])]),
    ...Object.entries(glossary.TERMS).map(([term, [word]]) => ["word", word, to("glossary", ["term", term])]),
  ];
}

const day = (time) => (time ? new Date(time).toISOString().slice(0, 10) : "undated");

function nothing(text) {
  for (const id of ["controls", "legend", "below", "note"]) part(id).replaceChildren();
  part("figure").replaceChildren(make("div", { class: "empty" }, make("h2", {}, text), make("p", {}, "Compare solvers, add what was measured to the dashboard, and make the site again:"), make("pre", {}, COMMANDS)));
  window.harnessDashboard.drawn = 0;
}

/* What has the focus is made anew with the page: find its successor by what it is for. */
function held() {
  const { id, name, dataset } = document.activeElement ?? {};
  if (id || !document.activeElement) return null;
  if (name) return `#controls [name="${name}"]`;
  for (const kind of ["page", "tool"]) if (dataset[kind]) return `[data-${kind}="${dataset[kind]}"]`;
  return document.activeElement.matches("#legend input") ? `#legend input[data-solver="${CSS.escape(dataset.solver)}"]` : null;
}

/* The cells that the choice of a commit stands for. */
async function chosen(index, place, values) {
  const newest = place.commits[0];
  const usual = newest.cells * 2 >= place.latest.cells ? newest.commit : "latest";
  const commit = place.commits.find((each) => each.commit === values.get("commit")) ?? (values.get("commit") === "latest" || usual === "latest" ? null : newest);
  const latest = await load(place.latest.file);
  const all = rows(latest, index.figures);
  const found = commit === null ? all : commit === newest ? all.filter((row) => row.commit === commit.commit)
    : rows(await load(commit.file), index.figures);
  return { commit, newest: commit === null || commit === newest, latest: { rows: all, datasets: latest.datasets, solvers: latest.solvers, traced: new Set(all.filter((row) => row.seconds_to).map((row) => row.dataset)) }, rows: found };
}

function places(page) {
  for (const id of ["controls", "note", "legend", "figure", "below"]) part(id).replaceChildren();
  return {
    controls: part("controls"), note: part("note"), legend: part("legend"), figure: part("figure"), below: part("below"),
    empty: (text) => { part("figure").replaceChildren(make("p", { class: "empty" }, text)); return 0; }, page,
  };
}

/* Which machine and commit a page shows, and the choice of others. */
function measured(kept, index, number, { page, commit, latest }) {
  const place = index.places[number];
  if (index.places.length > 1) kept.controls.append(choice("Measured on", "place", index.places.map((each, i) => [String(i), `${each.machine}, ${each.environment}`]), String(number)));
  if (place.commits.length > 1 && !PAGES[page].newest) {
    const named = place.commits.map((each, i) => [each.commit, `${i ? "" : "newest: "}${each.name}, ${day(each.time)}${each.title ? `, ${each.title}` : ""} (${each.cells} cells)`]);
    kept.controls.append(choice("Commit", "commit", [["latest", `each cell as measured last (${place.latest.cells})`], ...named], commit ? commit.commit : "latest"));
  }
  kept.note.append(`${commit ? `Commit ${commit.name} of ${day(commit.time)}` : "Each cell as it was measured last"}, on ${place.machine}, ${place.environment}.`);
  const all = given(latest.solvers);
  if (all) kept.note.append(` Every solver: ${all}.`);
}

async function draw() {
  const mine = ++turn;
  const focus = held();
  const still = () => mine === turn;
  const { page: asked, values } = state();
  const here = location.hash;
  const page = Object.hasOwn(PAGES, asked) ? asked : FIRST;
  hideTip();
  document.title = `${PAGES[page].title}: solvers side by side`;
  const index = await load("index.json");
  if (index.history && OF_ASV.test(asked)) { // asv's front page was here before: what was written down then leads there still
    location.replace(`history.html${location.hash}`);
    return;
  }
  navigation(page, values, index);
  if (last !== null && last !== page) part("told")?.removeAttribute("open"); // of a comparison: who goes on to a page wants to see it
  last = page;
  part("project").textContent = index.project;
  if (!index.places.length) {
    if (index.told.table) places(page).empty("A path is a line of the table above; the pages show runs of one problem.");
    else nothing("Nothing was measured yet");
    window.harnessDashboard.page = page;
    return;
  }
  const number = Math.min(index.places.length - 1, Math.max(0, Math.trunc(Number(values.get("place"))) || 0));
  const place = index.places[number];
  const always = PAGES[page].newest; // it shows each cell as measured last, whatever commit other pages show
  const { commit, newest, latest, rows: found } = await chosen(index, place, always ? new URLSearchParams({ commit: "latest" }) : values);
  if (!still()) return;
  findable(names(latest, values));
  const kept = places(page);
  if (!PAGES[page].timeless) measured(kept, index, number, { page, commit, latest });
  const figures = index.figures.filter((name) => found.some((row) => row[name] !== null));
  const drawn = await PAGES[page].draw({ rows: found, solvers: latest.solvers, latest, newest, place, index, figures, look: new Look(latest.solvers), values, places: kept, still });
  if (!still()) return;
  if (focus) document.querySelector(focus)?.focus({ preventScroll: true });
  Object.assign(window.harnessDashboard, { page, address: here, drawn });
}

async function safely() {
  try {
    await draw();
  } catch (error) {
    window.harnessDashboard.errors.push(String(error));
    part("figure").replaceChildren(make("p", { class: "empty" }, `This page cannot be drawn: ${error.message}. Make the site again: harness dashboard build`));
    console.error(error);
  }
}

theme();
search(part("wanted"), part("found"), part("how-many"));
part("menu").addEventListener("click", () => fold(part("menu").getAttribute("aria-expanded") === "true"));
part("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part of the address behind # names the page that is shown
  part("content").focus();
});
window.addEventListener("hashchange", () => {
  window.harnessDashboard.page = null;
  safely();
});
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (width === window.innerWidth) return; // a phone's bars come and go: only the width matters
  width = window.innerWidth;
  safely();
});
part("content").addEventListener("submit", (event) => event.preventDefault());
safely();
