/* A path as a map: the error, or the support vectors, at each pair of values of its axes. */

import { choice, hideTip, make, showTip } from "./parts.js";
import { byName, known, text } from "./units.js";

export const title = "Path";

const FIGURES = { error: "Error", size: "Support vectors" };

export function draw({ paths, values, places }) {
  const wanted = Number(values.get("path") ?? 0);
  const number = Object.hasOwn(paths, wanted) ? wanted : 0;
  const { solver, dataset, axes, best, cells, folds, share } = paths[number]; // the error is a share but in a regression
  const where = folds ? `, mean of ${folds} folds` : ", on the test points";
  const figure = Object.hasOwn(FIGURES, values.get("figure") ?? "") ? values.get("figure") : "error";
  const heading = FIGURES[figure];
  places.controls.append(
    choice("Path", "path", paths.map((path, i) => [String(i), `${path.solver} on ${path.dataset}`]), String(number)),
    choice("Figure", "figure", Object.entries(FIGURES), figure));
  const of = (cell) => [String(cell.values[0]), cell.values.slice(1).join(", ")];
  const [xs, ys] = [0, 1].map((i) => [...new Set(cells.map((cell) => of(cell)[i]))].sort(byName));
  const width = Math.max(300, Math.min(900, places.figure.clientWidth));
  const [left, size] = [64, Math.min(92, (width - 70) / xs.length)];
  const tall = Math.min(44, size);
  const height = 40 + tall * ys.length;
  const [low, high] = d3.extent(cells, (cell) => cell[figure]);
  const colour = (cell) => (known(cell[figure]) ? d3.interpolateViridis(high > low ? (high - cell[figure]) / (high - low) : 1) : "#888"); // the least is the lightest
  const svg = d3.create("svg").attr("viewBox", `0 0 ${left + size * xs.length + 6} ${height + 18}`).attr("width", left + size * xs.length + 6).attr("height", height + 18)
    .attr("role", "group").attr("aria-label", `${heading} of ${solver} at each ${axes.join(" and ")}`);
  const [x, y] = [(name) => left + size * xs.indexOf(name), (name) => tall * (ys.length - 1 - ys.indexOf(name))]; // the largest on top
  const number_of = (value) => (value && Math.abs(value) < 0.001 ? value.toExponential(0) : String(Number(value.toPrecision(3))));
  const label = (name) => (name === "" ? "" : name.split(", ").map((each) => number_of(Number(each))).join(", "));
  for (const name of xs.filter((_, i) => size >= 40 || i % 2 === 0)) svg.append("text").attr("class", "soft").attr("x", x(name) + size / 2).attr("y", tall * ys.length + 16).attr("text-anchor", "middle").text(label(name));
  for (const name of ys) svg.append("text").attr("class", "soft").attr("x", left - 6).attr("y", y(name) + tall / 2 + 4).attr("text-anchor", "end").text(label(name));
  svg.append("text").attr("class", "title").attr("x", left).attr("y", height).text(`${axes[0]} →`);
  svg.append("text").attr("class", "title").attr("x", left - 6).attr("y", height).attr("text-anchor", "end").text(axes.length > 1 ? `↑ ${axes.slice(1).join(", ")}` : "");
  for (const cell of cells) {
    const [px, py] = [x(of(cell)[0]), y(of(cell)[1])];
    const chosen = cell.values.every((value, i) => value === best[i]);
    const lines = [axes.map((axis, i) => `${axis} = ${cell.values[i]}`).join(", "), `error ${text(cell.error, share ? "%" : "")}${where}`, `${text(cell.size, "")} support vectors`, ...(cell.certified ? [] : ["not certified"]), ...(chosen ? ["chosen"] : [])];
    const box = svg.append("rect").attr("class", "cell").attr("x", px + 1).attr("y", py + 1).attr("width", size - 2).attr("height", tall - 2).attr("tabindex", 0).attr("role", "img").attr("aria-label", lines.join("; "))
      .attr("data-chosen", chosen || null).attr("data-certified", cell.certified).attr("data-value", cell[figure])
      .style("fill", colour(cell)).style("stroke", chosen ? "var(--bad)" : "none").style("stroke-width", chosen ? 3 : null);
    box.on("mouseenter focus", () => showTip(box.node(), lines)).on("mouseleave blur", hideTip);
    if (size >= 40) {
      svg.append("text").attr("class", "in").attr("x", px + size / 2).attr("y", py + tall / 2 + 4).attr("text-anchor", "middle").attr("aria-hidden", "true")
        .style("fill", d3.lab(colour(cell)).l > 50 ? "#000" : "#fff").text(`${figure === "error" && share ? (100 * cell.error).toFixed(1) : text(cell[figure], "")}${cell.certified ? "" : " ?"}`);
    }
  }
  places.figure.append(make("h2", {}, `${heading} of ${solver} on ${dataset}${figure === "error" ? `${share ? ", in per cent" : ""}${where}` : ""}`), svg.node());
  places.note.append(" Framed: the chosen cell. ?: not every fit is certified.");
  return cells.length;
}
