"""What the study has of Ertekin, Huang, Bottou, Giles (2007)."""

from __future__ import annotations

from reports.kit.covered import Covered

COVERS = (
    Covered("Figure 1", "the most informative example lies next to the hyperplane", reason="a drawing"),
    Covered(
        "Figure 2",
        "random sampling, full search and small pools",
        part="figure2",
        sections=("figure2",),
        smaller="two runs a solver and set",
    ),
    Covered(
        "Figure 3", "data within the margin are less imbalanced", reason="a drawing; Figure 8 measures what it shows"
    ),
    Covered(
        "Figure 4",
        "the early stop by cross-validation on CiteSeer",
        part="tuning",
        sections=("tuning",),
        smaller="the rule is tuned on other sets, as CiteSeer is not available",
    ),
    Covered("Figure 5", "waveform with fewer and fewer positives", part="figure5", sections=("figure5",)),
    Covered(
        "Figure 6",
        "adult with fewer and fewer positives",
        part="figure6",
        sections=("figure6",),
        smaller="one run a share",
    ),
    Covered(
        "Figure 7",
        "ROC curves of AL and random sampling",
        part="figure7",
        sections=("figure7",),
        smaller="one run a set",
    ),
    Covered(
        "Figure 8", "support vectors of both classes while labels are bought", part="curves", sections=("figure8",)
    ),
    Covered("Figure 9", "g-means while labels are bought", part="curves", sections=("figure9",)),
    Covered(
        "Table 1",
        "the early stop against the whole training set",
        part="table1",
        sections=("table1",),
        smaller="without CiteSeer",
    ),
    Covered(
        "Table 2",
        "the data sets",
        part="table2",
        sections=("table2",),
        smaller="without CiteSeer",
    ),
    Covered(
        "Table 3",
        "PRBEP and training time of five methods",
        part="table1",
        sections=("table3",),
        smaller="without CiteSeer",
    ),
    Covered(
        "Table 4",
        "their ranks",
        part="table1",
        sections=("table4",),
        smaller="without CiteSeer",
    ),
    Covered(
        "Figure 16 of the LASVM paper",
        "training anew after each label",
        part="figure16",
        sections=("figure16",),
        reason="in this study, as its solvers are here",
    ),
)
