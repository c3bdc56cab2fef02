"""Kernel perceptrons, plain, averaged and with a budget: see :mod:`harness_perceptron.solvers`."""

from __future__ import annotations

from harness import Problem, Solver, hookimpl
from harness_perceptron.mistake_driven import MistakeDriven
from harness_perceptron.solvers import AveragedPerceptron, BudgetPerceptron, KernelPerceptron


@hookimpl
def harness_formulations() -> list[type[Problem]]:
    """Return the formulation that this plugin brings."""
    return [MistakeDriven]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [KernelPerceptron, AveragedPerceptron, BudgetPerceptron]
