/* A chart: axes with units, points that the keyboard reaches, labels that do not overlap. */

import { hideTip, plain, showTip } from "./parts.js";
import { known, ticks } from "./units.js";

const LINE = 14; // pixels from one label's baseline to the next
const LONGEST = 30; // letters of a label in the chart; the whole name is in the tip and the legend

/* A scale over values: logarithmic from just below the smallest to just above the largest, or linear from zero. */
export function scale(values, log, range, { least = 0, whole = false } = {}) {
  const found = values.filter((value) => known(value) && (!log || value > 0));
  if (!found.length) return null;
  let [low, high] = d3.extent(found);
  if (!log) {
    if (whole) low = Math.min(0, low);
    const least_width = 0.1 * Math.abs(high) || 1; // less would show noise as a difference
    const room = Math.max((high - low) * 0.06, (least_width - (high - low)) / 2);
    return d3.scaleLinear([Math.max(least, low - room), high + room], range).nice(6);
  }
  if (high / low < 10) [low, high] = [low / Math.sqrt(10 / (high / low)), high * Math.sqrt(10 / (high / low))];
  return d3.scaleLog([low / 1.25, high * 1.25], range);
}

function marks(axis, unit, room) {
  if (!axis.base) return axis.ticks(Math.max(2, Math.floor(room / 90)));
  const [low, high] = axis.domain();
  const decades = d3.range(Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9) + 1);
  const most = Math.max(2, Math.floor(room / (unit === "gap" ? 34 : 62)));
  const step = Math.ceil(decades.length / most);
  const powers = decades.filter((_, i) => i % step === 0).map((exponent) => Number(`1e${exponent}`));
  if (decades.length * 3 > most || powers.length > 3) return powers;
  return decades.concat(decades[0] - 1, decades.at(-1) + 1).flatMap((e) => [1, 2, 5].map((m) => Number(`${m}e${e}`))).filter((v) => v >= low && v <= high).sort(d3.ascending);
}

function widthOf(text) {
  Chart.pen ??= document.createElement("canvas").getContext("2d");
  Chart.pen.font = "11.5px system-ui, sans-serif";
  return Chart.pen.measureText(text).width;
}

/* A drawing of the width of its place. right: room for labels at the ends of curves. */
export class Chart {
  constructor(target, { height = 460, right = 16, label }) {
    this.width = Math.max(300, Math.min(1200, target.clientWidth || 300));
    this.narrow = this.width < 560;
    this.height = this.narrow ? Math.min(height, 380) : height;
    this.box = { left: this.narrow ? 62 : 72, right: this.width - (this.narrow ? 12 : right), top: 26, bottom: this.height - 44 };
    this.svg = d3.create("svg").attr("viewBox", `0 0 ${this.width} ${this.height}`).attr("width", this.width).attr("height", this.height)
      .attr("role", "group").attr("aria-label", `${label}. Arrow keys go from point to point.`);
    target.replaceChildren(this.svg.node());
    this.points = [];
    this.taken = [];
  }

  /* across: the marks of the horizontal axis, where they are not those of its scale. */
  axes(x, y, titles, units, across = null) {
    const { left, right, top, bottom } = this.box;
    const [xs, ys] = [across ?? marks(x, units.x, right - left), marks(y, units.y, (bottom - top) * 1.6)];
    const [across_labels, up_labels] = [ticks(xs, units.x), ticks(ys, units.y)];
    const horizontal = (axis, values) => d3.axisBottom(axis).tickValues(values);
    const vertical = (axis, values) => d3.axisLeft(axis).tickValues(values);
    const group = (kind, place) => this.svg.append("g").attr("class", kind).attr("transform", place).attr("aria-hidden", "true");
    group("grid", `translate(0,${bottom})`).call(horizontal(x, xs).tickSize(top - bottom).tickFormat(""));
    group("grid", `translate(${left},0)`).call(vertical(y, ys).tickSize(left - right).tickFormat(""));
    group("axis x", `translate(0,${bottom})`).call(horizontal(x, xs).tickFormat((value) => across_labels.get(value)));
    group("axis y", `translate(${left},0)`).call(vertical(y, ys).tickFormat((value) => up_labels.get(value)));
    this.svg.append("text").attr("class", "title").attr("x", right).attr("y", this.height - 6).attr("text-anchor", "end").text(`${titles.x} →`);
    this.svg.append("text").attr("class", "title").attr("x", 4).attr("y", 14).text(`↑ ${titles.y}`);
  }

  curve(points, look, solver, line = d3.line()) {
    return this.svg.append("path").attr("class", "curve").attr("data-solver", solver).attr("d", line(points))
      .style("stroke", look.colour(solver)).attr("stroke-dasharray", look.dash(solver));
  }

  /* From one end of an interval to the other, both in pixels: an error bar with its two caps; no label may lie on it. */
  bar([ax, ay], [bx, by], look, solver) {
    this.keepClear([[ax, ay], [bx, by]]);
    const [dx, dy] = ay === by ? [0, 3] : [3, 0];
    this.svg.append("path").attr("class", "bar").attr("data-solver", solver).style("stroke", look.colour(solver))
      .attr("d", `M${ax},${ay}L${bx},${by}M${ax - dx},${ay - dy}L${ax + dx},${ay + dy}M${bx - dx},${by - dy}L${bx + dx},${by + dy}`);
  }

  /* One point, and what `labels` takes. told: lines of the tip; data: what a test or a reader's script may ask for. */
  point({ x, y, area = 64, solver, name = solver, look, data, told, front = false }) {
    const node = this.svg.append("path").attr("class", front ? "point on-front" : "point").attr("transform", `translate(${x},${y})`)
      .attr("d", look.shape(solver, area)).style("fill", look.colour(solver)).attr("tabindex", this.points.length ? -1 : 0)
      .attr("role", "img").attr("aria-label", told.join("; ")).attr("data-solver", solver);
    for (const [name, value] of Object.entries(data)) node.attr(`data-${name}`, value);
    const element = node.node();
    const show = () => {
      showTip(element, told);
      this.svg.selectAll(".curve, .point, .label, .bar").nodes()
        .forEach((each) => each.classList.toggle("faint", each.dataset.solver !== solver));
    };
    const rest = () => {
      hideTip();
      this.svg.selectAll(".faint").classed("faint", false);
    };
    node.on("mouseenter focus", show).on("mouseleave blur", rest).on("keydown", (event) => this.walk(event, element));
    this.points.push({ x, y, solver, name, element, radius: Math.sqrt(area / Math.PI) });
    return this.points.at(-1);
  }

  /* Left and right: along a solver's own points; up and down: to the nearest point of another solver. */
  walk(event, element) {
    const here = this.points.find((point) => point.element === element);
    const own = this.points.filter((point) => point.solver === here.solver).sort((a, b) => a.x - b.x);
    let next = null;
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const place = own.indexOf(here) + (event.key === "ArrowRight" ? 1 : -1);
      const all = this.points.indexOf(here) + (event.key === "ArrowRight" ? 1 : -1);
      next = own.length > 1 ? own[place] : this.points[all];
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const up = event.key === "ArrowUp";
      const others = this.points.filter((point) => !own.includes(point) && (up ? point.y < here.y : point.y >= here.y));
      next = d3.least(others, (point) => Math.hypot(point.x - here.x, point.y - here.y));
    } else if (event.key === "Escape") {
      hideTip();
      return;
    } else return;
    event.preventDefault();
    if (!next) return;
    element.setAttribute("tabindex", "-1");
    next.element.setAttribute("tabindex", "0");
    next.element.focus();
  }

  /* No label may lie on this line: small boxes along it are taken. */
  keepClear(corners) {
    d3.pairs(corners, ([ax, ay], [bx, by]) => {
      const parts = ax === bx || ay === by ? 1 : Math.ceil(Math.hypot(bx - ax, by - ay) / 6);
      for (let i = 0; i < parts; i += 1) {
        const [x0, x1] = [ax + ((bx - ax) * i) / parts, ax + ((bx - ax) * (i + 1)) / parts];
        const [y0, y1] = [ay + ((by - ay) * i) / parts, ay + ((by - ay) * (i + 1)) / parts];
        this.taken.push([Math.min(x0, x1) - 1, Math.min(y0, y1) - 1, Math.max(x0, x1) + 1, Math.max(y0, y1) + 1]);
      }
    });
  }

  words(name) {
    const text = plain(name);
    const short = text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
    return { short, width: widthOf(short) + 2 };
  }

  write(text, x, y, solver, anchor = "start") {
    this.svg.append("text").attr("class", "label").attr("data-solver", solver).attr("aria-hidden", "true").attr("x", x).attr("y", y)
      .attr("text-anchor", anchor).text(text);
  }

  /* Labels beside points, the first ones first: where there is no free place beside or near it, a point has none. */
  labels(points) {
    const { left, right, top, bottom } = this.box;
    const boxes = this.points.map(({ x, y, radius }) => [x - radius, y - radius, x + radius, y + radius]);
    const free = (box) => box[0] >= left && box[2] <= right + 6 && box[1] >= top - 12 && box[3] <= bottom
      && ![...boxes, ...this.taken].some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1]);
    for (const { x, y, radius, solver, name } of points) {
      const { short, width } = this.words(name ?? solver);
      const places = (this.narrow ? [6, 16] : [6, 16, 30, 46]).flatMap((far) => [[1, 0], [-1, 0], [0, -1], [0, 1], [1, -1], [1, 1], [-1, -1], [-1, 1]].map(([dx, dy]) => ({ dx, dy, far })));
      for (const { dx, dy, far } of places) {
        const start = dx > 0 ? x + radius + far - 2 : dx < 0 ? x - radius - far + 2 - width : x - width / 2;
        const middle = y + dy * (radius + far + (dx ? -2 : 3));
        const box = [start, middle - LINE / 2, start + width, middle + LINE / 2];
        if (!free(box)) continue;
        this.taken.push(box);
        if (far > 6) {
          const end = dx > 0 ? start - 1 : dx < 0 ? start + width + 1 : start + width / 2;
          const lead = [[x + dx * radius, y + dy * radius], [end, middle - (dx ? 0 : dy * 6)]];
          this.svg.append("path").attr("class", "lead").attr("d", d3.line()(lead));
          this.keepClear(lead);
        }
        this.write(short, start, middle + 4, solver);
        break;
      }
    }
  }

  /* Labels at the right ends of curves, moved apart; as many as there is room for, the first ones first. */
  ends(curves) {
    if (this.narrow) return;
    const { right, top, bottom } = this.box;
    const most = Math.floor((bottom - top + LINE) / LINE);
    const shown = curves.slice(0, most).map((curve) => ({ ...curve, at: curve.y })).sort((a, b) => a.y - b.y);
    shown.forEach((curve, i) => { curve.at = Math.max(curve.at, i ? shown[i - 1].at + LINE : top); });
    let limit = bottom + 4;
    for (const curve of shown.toReversed()) {
      curve.at = Math.min(curve.at, limit);
      limit = curve.at - LINE;
    }
    for (const { x, y, at, solver } of shown) {
      const { short, width } = this.words(solver);
      this.svg.append("path").attr("class", "lead").attr("d", `M${x + 4},${y}L${right + 6},${at}h6`);
      this.taken.push([right + 14, at - LINE / 2, right + 14 + width, at + LINE / 2]);
      this.write(short, right + 15, at + 4, solver);
    }
    if (curves.length > most) {
      this.svg.append("text").attr("class", "title").attr("x", right + 15).attr("y", bottom + 20).text(`and ${curves.length - most} more: see the legend`);
    }
  }
}

/* Room at the right for the longest of these names. */
export function roomFor(names) {
  const longest = Math.min(LONGEST, Math.max(0, ...names.map((name) => name.length)));
  return 30 + longest * 6.4;
}
