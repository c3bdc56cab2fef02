"""What the study has of Ertekin, Bottou, Giles (2011)."""

from __future__ import annotations

from reports.kit.covered import Covered

COVERS = (
    Covered(
        "Figure 1", "duality gap over the examples seen", part="table3", sections=("growth",), smaller="one run a size"
    ),
    Covered("Figure 2", "LASVM and LASVM-G on adult", part="figure2", sections=("figure2",), smaller="one run a size"),
    Covered("Figure 3", "the ramp loss as a difference of two", reason="a drawing of a definition"),
    Covered(
        "Figure 4", "PRBEP over the examples seen", part="table3", sections=("figure4",), smaller="the first run alone"
    ),
    Covered(
        "Figure 5",
        "error over support vectors for several s",
        part="figure5",
        sections=("figure5",),
        smaller="adult once, banana and reuters three times",
    ),
    Covered(
        "Figure 6",
        "support vectors over the examples seen",
        part="table3",
        sections=("growth",),
        smaller="one run a size",
    ),
    Covered(
        "Figure 7",
        "kernel values over the examples seen",
        part="table3",
        sections=("growth",),
        smaller="one run a size",
    ),
    Covered(
        "Figure 8",
        "training times",
        part="table3",
        sections=("table3",),
        smaller="mnist-8 once, usps-n twice, adult and usps three times",
    ),
    Covered(
        "Table 1", "where on the ramp the examples of adult lay", part="table1", sections=("table1",), smaller="one run"
    ),
    Covered("Table 2", "the data sets and their parameters", reason="parameters, no result: the plan has them"),
    Covered(
        "Table 3",
        "the four solvers on six sets",
        part="table3",
        sections=("table3", "verdict"),
        smaller="mnist-8 once, usps-n twice, adult and usps three times",
    ),
)
