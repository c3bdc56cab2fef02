"""What the study has of Ding, Xu (2015)."""

from __future__ import annotations

from reports.kit.covered import Covered

COVERS = (
    Covered("Figures 1, 2 and 3", "margins with outliers, Gilbert's step, a step of the tree", reason="drawings"),
    Covered(
        "Theorem 1, Lemmas 1 and 2",
        "Gilbert's algorithm and the margin that it finds",
        reason="known before; `gilbert` is measured in frank_wolfe_2009",
    ),
    Covered(
        "Theorem 2, Lemmas 3 to 6",
        "a node of the tree is near the optimum, one class",
        part="theorem",
        sections=("theorem",),
    ),
    Covered("Theorems 3 and 4", "the same for two classes", part="theorem", sections=("theorem",)),
    Covered("Figure 4(a)", "error over the share of outliers", part="figure4a", sections=("figure4a",)),
    Covered("Figure 4(b)", "error over D / rho", part="figure4b", sections=("figure4b",)),
    Covered("Figure 4(c)", "what boosting gains", part="figure4c", sections=("figure4c",)),
    Covered(
        "Figure 4(d)",
        "RGD-SVM against the others",
        part="table1",
        sections=("figure4d",),
        smaller="six of the ten sets, those that can be had",
    ),
    Covered(
        "Table 1",
        "ten benchmark sets",
        part="table1",
        sections=("table1", "clean"),
        smaller="six of the ten sets, those that can be had",
    ),
)
