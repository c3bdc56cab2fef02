"""The list of the real data sets; each family has its module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.datasets.images import Mnist, Usps
from harness.datasets.raetsch import Banana, TwonormRaetsch, Waveform
from harness.datasets.sparse import Adult, Covtype, Reuters
from harness.datasets.uci import Abalone, Letter, Musk2, Satimage, Spambase, Wdbc
from harness.datasets.uci_libsvm import Australian, GermanNumer, Svmguide1

if TYPE_CHECKING:
    from harness.datasets.dataset import DataSource

REAL: tuple[type[DataSource], ...] = (
    Adult,
    Mnist,
    Banana,
    Waveform,
    Usps,
    Reuters,
    Covtype,
    Letter,
    Satimage,
    Abalone,
    Spambase,
    Wdbc,
    Australian,
    GermanNumer,
    Svmguide1,
    Musk2,
    TwonormRaetsch,
)
"""Every set whose raw files lie under ``HARNESS_DATA``, the papers' own first."""
