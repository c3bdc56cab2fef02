/* What a view shows as a file: tables as CSV and JSON, charts as SVG and PNG. Made in the browser; nothing is sent. */

const UNITS = { s: "s", B: "bytes", "%": "share" }; // what the numbers of a file are in, where a page shows others
const DRAWN = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "opacity", "font-family", "font-size", "text-anchor"];
const OF_THE_PAGE = /^(class|style|role|tabindex|aria-.*|data-.*)$/;
const SHARP = 2; // pixels of a PNG for each of the page

const fileName = (label) => label.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "harness";

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/* Heads and values of a table; a column whose figures have intervals has three: the figure, its low and its high end. */
export function grid(columns, rows) {
  const ends = columns.map((column) => column.interval && rows.map((row) => column.interval(row)));
  const heads = columns.flatMap((column, i) => {
    const unit = UNITS[column.unit] ? ` (${UNITS[column.unit]})` : "";
    const head = `${column.note ? `${column.title}, ${column.note}` : column.title}${unit}`;
    return ends[i]?.some(Boolean) ? [head, `${head}, low`, `${head}, high`] : [head];
  });
  const values = rows.map((row, line) => columns.flatMap((column, i) => {
    const value = column.value(row) ?? column.said?.(row) ?? null;
    return ends[i]?.some(Boolean) ? [value, ...(ends[i][line] ?? [null, null])] : [value];
  }));
  return { heads, values };
}

/* A text that begins as a formula does is none: a spreadsheet would carry it out. */
function quoted(value) {
  if (value === null) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function saveTable(columns, rows, label, kind) {
  const { heads, values } = grid(columns, rows);
  const text = kind === "csv" ? [heads, ...values].map((line) => `${line.map(quoted).join(",")}\r\n`).join("")
    : JSON.stringify(values.map((line) => Object.fromEntries(line.map((value, i) => [heads[i], value]))), null, 1);
  save(new Blob([text], { type: kind === "csv" ? "text/csv" : "application/json" }), `${fileName(label)}.${kind}`);
}

/* A drawing by itself: the colours of the moment in the place of the page's styles, on the page's background. */
export function alone(svg, title) {
  const copy = svg.cloneNode(true);
  const [there, here] = [svg, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  there.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const { name } of [...here[i].attributes]) if (OF_THE_PAGE.test(name)) here[i].removeAttribute(name);
    if (style.display === "none") here[i].remove();
    else if (!element.firstElementChild) for (const name of DRAWN) here[i].setAttribute(name, style.getPropertyValue(name));
  });
  const [back, head] = ["rect", "title"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  for (const side of ["width", "height"]) back.setAttribute(side, "100%");
  back.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  head.textContent = title;
  copy.prepend(head, back);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}

export function saveDrawing(text, width, height, label, kind) {
  if (kind === "svg") {
    save(new Blob([text], { type: "image/svg+xml" }), `${fileName(label)}.svg`);
    return;
  }
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width * SHARP, height * SHARP];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(blob, `${fileName(label)}.png`));
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

/* Buttons that save a view in one of these kinds. */
export function buttons(kinds, label, action) {
  const box = document.createElement("span");
  box.className = "download";
  box.append("Download ");
  for (const kind of kinds) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.download = kind;
    button.textContent = kind.toUpperCase();
    button.setAttribute("aria-label", `Download as ${kind.toUpperCase()}: ${label}`);
    button.addEventListener("click", () => action(kind));
    box.append(button, " ");
  }
  return box;
}
