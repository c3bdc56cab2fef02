"""The lists of the named data sets; each family has its module."""

from __future__ import annotations

from harness.datasets.images import Mnist, Usps
from harness.datasets.raetsch import Banana, TwonormRaetsch, Waveform
from harness.datasets.raw import RawSource
from harness.datasets.reuters import ReutersCategory
from harness.datasets.sparse import Adult, Covtype, Reuters
from harness.datasets.uci import Abalone, Australian, GermanNumer, Letter, Musk2, Satimage, Spambase, Svmguide1, Wdbc

_PAPERS = (Adult, Mnist, Banana, Waveform, Usps, Reuters, ReutersCategory, Covtype, Letter, Satimage, Abalone)
_OTHERS = (Spambase, Wdbc, Australian, GermanNumer, Svmguide1, Musk2, TwonormRaetsch)
REAL: tuple[type[RawSource], ...] = (*_PAPERS, *_OTHERS)
"""Every set whose raw files lie under ``HARNESS_DATA``, the papers' own first."""
