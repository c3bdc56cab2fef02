"""What the study has of Balcazar, Dai, Tanaka, Watanabe (2008), which prints no experiment."""

from __future__ import annotations

from reports.kit.covered import Covered

COVERS = (
    Covered("Lemma 2.1", "the mean weight of the violators of a sample", part="small", sections=("small",)),
    Covered(
        "Figure 1, Theorem 2.2",
        "OptMargin ends after 6 delta ln m rounds on average",
        part="rounds",
        sections=("verdict", "rounds"),
    ),
    Covered(
        "Theorem 3.1, Lemma 3.2",
        "composed examples give the solution with outliers",
        reason="a step of the proof of Theorem 4.3; the optimum that a run ends at is certified",
    ),
    Covered(
        "Figure 2, Lemma 4.1",
        "the algorithm on composed examples, in outline",
        reason="replaced by that of Figure 3 in the paper too",
    ),
    Covered(
        "Lemma 4.2",
        "the combinatorial dimension is at most k (n + 1)",
        part="dimension",
        sections=("dimension", "counted"),
    ),
    Covered(
        "Figure 3, Theorem 4.3",
        "OptSoftMargin ends after 6 delta ln m rounds on average",
        part="rounds",
        sections=("rounds",),
    ),
    Covered(
        "Figures 4 and 5",
        "an example whose dimension is more than n + 1 + k",
        part="bases",
        sections=("bases", "bases-seen"),
    ),
    Covered("Theorems 5.1 and 5.2", "regression in a tube", part="tubes", sections=("tubes", "tubes-seen")),
    Covered("Theorem 6.1, section 6", "choosing k", part="choosing", sections=("choosing", "choosing-seen")),
)
