/* What the words of the pages mean. A figure names its word in units.js, and its titles lead here. */

import { make } from "./parts.js";

export const title = "Glossary";
export const timeless = true; // the same for every machine and commit

export const TERMS = {
  gap: ["Certified relative gap", "The duality gap of a model over all training points, P − D, over max(1, |P|) for c-svc, c-svc-nobias and eps-svr (other formulations have a scale of their own). The harness computes it in float64 from the model's coefficients alone, outside the clock. It bounds how far the model is from the optimum, whatever the solver claims."],
  target: ["Target", "A certified relative gap that solvers are compared at. What a solver needs to a target is read off its trace: what it had spent when its model was first certified to be that good. So nobody gains by stopping early."],
  epsilon: ["Epsilon", "Of formulations over hulls (hard-margin, l2-svc, reduced-hull): 1 − lower bound / upper bound of the margin, so the margin of the model is at least (1 − epsilon) times the optimal one. It is the greater of epsilon plus, 1 − ⟨w, z⟩ / |w|² with z the extreme points of both hulls in the direction of w, and the same for the points of the support (epsilon minus). It is recomputed from the model, whatever the solver was asked for."],
  kkt: ["KKT violation", "The largest violation of the optimality conditions (Karush, Kuhn and Tucker), in units of the decision function: the greatest g over points whose coefficient may grow, less the least g over those whose coefficient may shrink, with g = y − f. At the optimum it is not above 0."],
  "core-set": ["Core set", "The points that a model of a hull formulation has coefficients for, X, are an epsilon-core set if the margin of all points is at least (1 − epsilon) times the margin of X: the problem over X alone is then as good as the problem over all points. Theory bounds its size by a multiple of 1/epsilon, whatever the number of points. Kumar and Yildirim 2009, theorem 3.3."],
  "support-vectors": ["Support vectors", "The training points that have a coefficient in the model. Of a hull formulation they are its core set. Prediction takes one kernel value for each."],
  evaluations: ["Kernel evaluations", "Kernel values that a solver asked for, used or not, counted by the harness: a measure of work that no other program on the machine disturbs. What certificates and tests need is not counted. A black box, such as LIBSVM, shows –: not observable; ≥ says that not all could be counted."],
  time: ["Time", "Seconds in the solver alone: compilation is before the clock, certificates and tests after it. By CPU time where every run of a data set had one thread and its CPU time is known, else by the clock on the wall. A page says which. ⚠ marks cells whose wall time is more than 1.5 times their CPU time: the machine did other work."],
  interval: ["Interval", "Between which values a figure lies. Of two to five runs: the least and the greatest. Of six and more: a 95 % interval of the median by order statistics. A time or a peak of memory of few runs is taken to be known no better than to a factor either way: 1.5 of one run, 1.33 of two, 1.26 of three; a count is what it is. Two figures whose intervals overlap are not told apart: they share the shading, and neither is called better."],
  "test-error": ["Test error", "The share of test points that the model puts in the wrong class: 1 − accuracy."],
  "pareto-front": ["Pareto front", "The models that no other one beats in both cost and error. A ring marks those that none beats by more than its noise."],
  anytime: ["Anytime curve", "How good the model was that a solver would have returned, had it been stopped after so much time or so many kernel values."],
  profile: ["Performance profile", "For each factor, the share of data sets on which a solver needs at most so many times what the best one needs (Dolan and Moré 2002). Where it starts is the share won."],
  wins: ["Wins", "On how many data sets a solver had the least cost. Where several do not differ by more than their noise they share the win: the wins of all solvers add up to the number of data sets. Several problems on one data set (a sweep over C), and sizes of one generated set, count as one data set together, as they are not independent."],
  "mean-rank": ["Mean rank", "On each data set the solvers are ranked by their cost, 1 is best; what does not differ by more than its noise shares a rank, and a target that was not reached is worse than every cost. The mean over the data sets orders the solvers. It depends on who else takes part."],
  ratio: ["Ratio to the best", "The cost over the least cost of any solver, on the geometric average over the data sets on which the target was reached. A solver that fails where it would be slow looks better by it than it is: read it with how often the target was reached, which the mean rank counts."],
  resampling: ["Resampling", "Intervals over data sets: as many data sets are drawn anew from those measured, with repetition, 999 times; 95 % of the means lie in the interval (bootstrap, percentiles). Of few data sets such intervals are too narrow, of one there is none."],
  wilcoxon: ["Wilcoxon's test, Holm's correction", "Wilcoxon's signed-rank test asks of two solvers whether the one is ahead of the other over the data sets by more than chance; p is the probability of a lead at least as clear if there were none. As every pair is tested, Holm's correction raises the p so that the probability of any false claim is at most 5 %. Of n data sets p is never below 2 / 2ⁿ for one pair: of five data sets or fewer this test cannot tell two solvers apart."],
  "left-out": ["Stays first", "How often the first solver keeps the best mean rank when data sets are left out: each one by itself, and 200 times a half of them by chance."],
  "quality-profile": ["Quality profile", "For each certified gap, the share of problems that a solver brought to it or below: it needs no target. After Fasano, Piermarini and Roma, ‘Benchmarking optimization algorithms with quality profiles’ (2025); their (f − f*) / (f₀ − f*), with f* the best value that any solver found, is the certified relative gap here, which does not depend on who takes part."],
  exponent: ["Exponent of growth", "The b of time = a · n^b, by least squares in logarithms, with a 95 % interval. Over all data sets it compares easy with hard ones, as the width of its interval shows; over the sizes of one data set it does not."],
};

export function draw({ values, places }) {
  const asked = values.get("term");
  const list = make("dl", { class: "glossary" }, ...Object.entries(TERMS).flatMap(([name, [word, meaning]]) => [
    make("dt", { id: `term-${name}`, tabindex: "-1", class: name === asked ? "asked" : null }, word), make("dd", {}, meaning)]));
  places.figure.replaceChildren(make("h2", {}, "What the words mean"), list);
  const term = Object.hasOwn(TERMS, asked ?? "") ? document.getElementById(`term-${asked}`) : null;
  term?.scrollIntoView({ block: "center" });
  term?.focus({ preventScroll: true });
  return Object.keys(TERMS).length;
}
