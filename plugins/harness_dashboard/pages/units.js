/* Numbers as a person would write them: three digits and the unit that fits. */

/* low: less is better, null: neither end is; stops: it depends on where a solver stopped; noisy: it differs from run to run. */
export const FIGURES = {
  time: { title: "Time", unit: "s", low: true, stops: true, log: true, noisy: true }, // by the clock of the row's data set
  fit_seconds: { title: "Wall time in the solver", unit: "s", low: true, stops: true, log: true, noisy: true },
  cpu_seconds: { title: "CPU time in the solver", unit: "s", low: true, stops: true, log: true, noisy: true },
  compile_seconds: { title: "Compilation, before the clock", unit: "s", low: null, log: true, noisy: true },
  seconds_to: { title: "Time to a certified gap", unit: "s", low: true, log: true, noisy: true }, // at each of the targets
  kernel_evaluations_to: { title: "Kernel evaluations to a certified gap", unit: "", low: true, log: true },
  kernel_evaluations: { title: "Kernel evaluations", unit: "", low: true, stops: true, log: true },
  queried: { title: "Queried targets", unit: "", low: null, log: true },
  iterations: { title: "Iterations", unit: "", low: null, log: true },
  support_vectors: { title: "Support vectors (core set)", unit: "", low: true, stops: true, log: true },
  working_set_size: { title: "Working set", unit: "", low: true, stops: true, log: true },
  test_error: { title: "Test error", unit: "%", low: true, log: false },
  relative_gap: { title: "Certified relative gap", unit: "gap", low: true, log: true },
  suboptimality: { title: "Suboptimality, by the best dual", unit: "gap", low: true, log: true },
  kkt_violation: { title: "KKT violation", unit: "gap", low: true, log: true },
  epsilon: { title: "Certified epsilon", unit: "gap", low: true, log: true },
  epsilon_plus: { title: "Epsilon plus", unit: "gap", low: true, log: true },
  peak_rss_bytes: { title: "Peak memory", unit: "B", low: true, stops: true, log: true, noisy: true },
  mse: { title: "Mean squared error", unit: "", low: true, log: false },
  mae: { title: "Mean absolute error", unit: "", low: true, log: false },
};

export const known = (value) => typeof value === "number" && Number.isFinite(value);

let precision = 3; // significant digits

function digits(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000 && precision === 3) return String(Math.round(value));
  const text = value.toPrecision(precision);
  return (size < 100 || precision > 3) && text.includes(".") && !text.includes("e") ? text : String(Number(text));
}

function seconds(value) {
  if (value === 0) return "0 s";
  const size = Math.abs(value);
  if (size < 0.9995e-3) return `${digits(value * 1e6)} µs`;
  if (size < 0.9995) return `${digits(value * 1e3)} ms`;
  if (size < 600) return `${digits(value)} s`;
  if (size < 2 * 3600) return `${digits(value / 60)} min`;
  return `${digits(value / 3600)} h`;
}

function count(value) {
  if (Math.abs(value) < 9999.5) return String(Number(value.toFixed(Number.isInteger(value) || value >= 100 ? 0 : 2)));
  for (const [size, suffix] of [[1e3, " k"], [1e6, " M"], [1e9, " G"]]) {
    if (Math.abs(value) < 999.5 * size) return digits(value / size) + suffix;
  }
  return `${digits(value / 1e12)} T`;
}

/* As harness.report.figures writes it: "1e-3" for a power of ten, else "2.3e-3". */
const gap = (value) => (value <= 0 ? "0" : value.toExponential(1).replace(".0e", "e"));

const bytes = (value) => (value < 1e6 ? `${digits(value / 1e3)} kB` : value < 1e9 ? `${digits(value / 1e6)} MB` : `${digits(value / 1e9)} GB`);
const percent = (value) => `${(100 * value).toFixed(2)} %`;
const FORMS = { s: seconds, "": count, "%": percent, percent: (v) => (100 * v).toFixed(2), digits: (v) => `${v.toFixed(1)} digits`, gap, B: bytes, ratio: (v) => `${digits(v)}×`, share: (v) => `${Math.round(100 * v)} %` };

/* A figure with its unit; "–" where there is none. */
export function text(value, unit) {
  return known(value) ? FORMS[unit](value) : "–";
}

/* Both ends of an interval, their unit once: "11.8 to 12.6 ms". */
export function range([low, high], unit) {
  if (!known(high)) return `${text(low, unit)} or more`;
  const [a, b] = [text(low, unit), text(high, unit)];
  const [, number, of] = /^(\S+)( \S+)$/.exec(a) ?? [];
  return a === b ? a : `${of && b.endsWith(of) ? number : a} to ${b}`;
}

/* The same for the marks of an axis: no digits that are always zero. */
export function tick(value, unit) {
  if (typeof unit === "function") return unit(value);
  if (unit === "%") return `${Number((100 * value).toPrecision(6))} %`;
  if (unit === "ratio") return `${value}×`;
  return FORMS[unit](value).replace(/\.0+(?= |$)/, "").replace(/(\.\d*[1-9])0+(?= |$)/, "$1");
}

/* The marks of an axis, with as many digits as it takes to tell one from the next. */
export function ticks(values, unit) {
  let labels = [];
  for (precision = 3; precision < 9; precision += 1) {
    labels = values.map((value) => tick(value, unit));
    if (new Set(labels).size === labels.length) break;
  }
  precision = 3;
  return new Map(values.map((value, i) => [value, labels[i]]));
}

const NUMBER = /(\d+(?:\.\d+)?(?:e[+-]?\d+)?)/;

/* Names in the order of a person: the numbers in them by their size. */
export function byName(a, b) {
  const [left, right] = [a.split(NUMBER), b.split(NUMBER)];
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    const found = i % 2 ? Number(left[i]) - Number(right[i]) : left[i].localeCompare(right[i]);
    if (found) return found;
  }
  return left.length - right.length;
}
