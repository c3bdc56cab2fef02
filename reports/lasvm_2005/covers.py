"""What the study has of Bordes, Ertekin, Weston, Bottou (2005)."""

from __future__ import annotations

from reports.kit.covered import Covered

COVERS = (
    Covered(
        "Figure 1",
        "test errors of the ten MNIST classifiers",
        part="figure4",
        sections=("digits",),
        smaller="LIBSVM on 10,000 of the 60,000 images, one run each",
    ),
    Covered(
        "Figure 2",
        "their training times",
        part="figure4",
        sections=("digits",),
        smaller="LIBSVM on 10,000 of the 60,000 images, one run each",
    ),
    Covered(
        "Figure 3",
        "training time over support vectors",
        part="figure4",
        sections=("digits",),
        reason="the picture has the points",
        smaller="LIBSVM on 10,000 of the 60,000 images, one run each",
    ),
    Covered(
        "Figure 4",
        "multiclass errors and times on MNIST",
        part="figure4",
        sections=("figure4",),
        smaller="LIBSVM on 10,000 of the 60,000 images, one run each",
    ),
    Covered(
        "Figure 5",
        "support vectors of the ten classifiers",
        part="figure4",
        sections=("digits",),
        smaller="LIBSVM on 10,000 of the 60,000 images, one run each",
    ),
    Covered(
        "Figure 6",
        "training time over the size of the cache",
        part="figure6",
        sections=("figure6",),
        smaller="one digit of ten, 10,000 of the 60,000 images",
    ),
    Covered("Figure 7", "the data sets and their parameters", reason="parameters, no result: the plan has them"),
    Covered(
        "Figure 8",
        "LASVM x1 against LIBSVM: error, support vectors, kernel values, time",
        part="figure8",
        sections=("figure8", "verdict"),
        smaller="mnist-8 once, adult with one division; no forest",
    ),
    Covered(
        "Figure 9",
        "before and after the finishing step",
        part="figure9",
        sections=("figure9",),
        smaller="two to five runs",
    ),
    Covered(
        "Figure 10", "REPROCESS repeated, on banana", part="figure10", sections=("figure10",), smaller="three runs"
    ),
    Covered(
        "Figure 11",
        "selection of examples on adult, over iterations and time",
        part="figure11",
        sections=("figure11",),
        smaller="three divisions of the data",
    ),
    Covered(
        "Figure 12",
        "the same over support vectors",
        part="figure11",
        sections=("figure11-points",),
        smaller="three divisions of the data",
    ),
    Covered(
        "Figure 13",
        "selection of examples on MNIST, digit 8",
        part="figure13",
        sections=("figure13", "figure13-points"),
        smaller="one run",
    ),
    Covered(
        "Figure 14",
        "the same with 10 % of the training labels flipped",
        part="figure14",
        sections=("figure14", "figure14-points"),
        smaller="one run, two criteria to the end, no LIBSVM",
    ),
    Covered(
        "Figure 15",
        "error over support vectors for several shares of flipped labels",
        part="figure14",
        sections=("figure14-points",),
        smaller="one share of flipped labels of several",
    ),
    Covered(
        "Section 3.3",
        "one, two and five epochs and the optimum",
        part="epochs",
        sections=("objective",),
        reason="the paper states it for MNIST",
    ),
    Covered("Section 3.4", "time grows as n times the support vectors", part="scaling", sections=("scaling",)),
    Covered(
        "Propositions 2 to 16, Theorems 17 and 18",
        "convergence of the algorithm in the limit",
        reason="proofs of limits without a rate; the gap of every run is certified",
    ),
)
