"""Plugin `perceptron`: the kernel perceptron, the averaged perceptron and the budget perceptron."""

from __future__ import annotations

from harness import Problem, Solver, hookimpl
from harness_perceptron.mistake_driven import MistakeDriven
from harness_perceptron.solvers import AveragedPerceptron, BudgetPerceptron, KernelPerceptron


@hookimpl
def harness_formulations() -> list[type[Problem]]:
    """Return the formulations of this plugin."""
    return [MistakeDriven]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [KernelPerceptron, AveragedPerceptron, BudgetPerceptron]
