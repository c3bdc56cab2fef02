"""What the study has of Kumar, Bhattacharyya, Hariharan (2007)."""

from __future__ import annotations

from reports.kit.covered import Covered

COVERS = (
    Covered(
        "Table 1",
        "classification against LIBSVM: time and accuracy",
        part="table1",
        sections=("table1", "verdict"),
        smaller="one run each; LIBSVM was stopped on some sets",
    ),
    Covered(
        "Table 2",
        "regression against LIBSVM: time, error and correlation",
        part="table2",
        sections=("table2",),
        smaller="one run each; LIBSVM was stopped on some sets",
    ),
    Covered("Section 5", "k and the size of the sample", part="table1", sections=("settings",)),
    Covered(
        "Lemmas 1 and 2, Corollary 1, Theorems 1 to 6",
        "a projection keeps the margin, so that few support vectors are enough",
        reason="a device of the proof: the algorithm never projects; whether k is enough, the rows say",
    ),
)
