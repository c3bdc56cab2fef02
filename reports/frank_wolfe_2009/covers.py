"""What the study has of Kumar, Yildirim (2009), which prints no experiment."""

from __future__ import annotations

from reports.kit.covered import Covered

COVERS = (
    Covered("Lemma 3.1", "the gain of an add- or decrease-iteration", part="lemma", sections=("lemma",)),
    Covered("Theorems 3.1 and 3.2", "iterations to an epsilon, at most", part="ladder", sections=("bounds",)),
    Covered("Theorem 3.3", "the size of the core set, at most", part="ladder", sections=("core-sets", "bounds")),
    Covered("Lemma 3.2", "an iterate solves a perturbed problem", reason="a step of the next proof, without a number"),
    Covered("Theorem 3.4", "the rate is linear in the end", part="ladder", sections=("verdict", "rates")),
    Covered("Title", "linear time: an iteration costs one pass over the points", part="large", sections=("large",)),
)
