"""Which document each row of the LASVM paper's Reuters file is: its rows are shuffled and name no document.

A row is (1 + ln tf) ln(n / df), divided by its length, of the Porter stems of a document's title and body, n and df of the
file that the row is in. So the counts tf can be had back exactly. The stems are not named either, but they are in
alphabetical order, and a stem that only one word has occurs as often as that word. These words, found first, tell most
documents; the documents tell which other words belong to which stem; and the counts of all stems tell the documents.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness.arrays import Index, Mask, Vector

_NEAR = 5  # places in the alphabet of the stems, between a word and its stem


@dataclass(frozen=True)
class Part:
    """The rows of one file, and the documents that they are, each in an order of its own.

    ``x`` : (n, d) CSR, the weights of all features; ``y`` : (n,) -1 / +1
    ``texts`` : the n documents; ``positive`` : (n,) bool, which of them have the topic that ``y`` tells, as many as +1
    """

    x: Any
    y: Vector
    texts: Sequence[str]
    positive: Mask


def documents_of(parts: Sequence[Part]) -> list[tuple[Index, Mask]]:
    """Return, for each part, each row's document and whether that is verified, (n,) both; every document occurs once.

    A row is verified if its document has the same topic and the same count of every stem whose words are all known, and
    has such a stem. Documents of the same counts may be exchanged: their rows are equal in these.
    """
    import scipy.sparse
    from sklearn.feature_extraction.text import CountVectorizer

    rows = scipy.sparse.csr_array(scipy.sparse.vstack([counts(part.x) for part in parts]))
    counter = CountVectorizer(token_pattern="[a-z]+", min_df=2, dtype=np.int64)
    words = scipy.sparse.csr_array(counter.fit_transform([text for part in parts for text in part.texts]))
    of_part = np.repeat(np.arange(len(parts)), [len(part.y) for part in parts])
    row_tags = list(zip(of_part, np.concatenate([part.y > 0 for part in parts]), strict=True))
    text_tags = list(zip(of_part, np.concatenate([part.positive for part in parts]), strict=True))

    stems, single = np.array(aligned(_totals(rows, of_part), _totals(words, of_part)), dtype=np.int64).reshape(-1, 2).T
    sure = _only_equals(rows[:, stems], words[:, single], row_tags, text_tags)
    stemmed = words @ _grouping(rows, words, sure, (stems, single))
    totals = zip(_totals(rows, of_part), _totals(stemmed, of_part), strict=True)
    known = np.array([i for i, (one, other) in enumerate(totals) if one == other], dtype=np.int64)
    sure = _only_equals(rows[:, known], stemmed[:, known], row_tags, text_tags)
    document = _assigned(rows, stemmed, sure, row_tags, text_tags)
    told = rows[:, known]
    differs = np.asarray(abs(told - stemmed[document][:, known]).sum(axis=1)).ravel() > 0
    verified = ~differs & (np.diff(told.indptr) > 0)
    starts = np.searchsorted(of_part, np.arange(len(parts)))
    return [
        (document[of_part == k] - starts[k], verified[of_part == k])  # the tags have kept them within their part
        for k in range(len(parts))
    ]


def counts(x: Any) -> Any:
    """Return the (n, d) counts of stems that (n, d) weights were made of; every row has a stem that occurs once."""
    import scipy.sparse

    n = x.shape[0]
    occurs_in = np.bincount(x.indices, minlength=x.shape[1])
    in_units = x.data / np.log(n / occurs_in[x.indices])
    once = np.minimum.reduceat(in_units, x.indptr[:-1])
    times = np.rint(np.exp(in_units / np.repeat(once, np.diff(x.indptr)) - 1.0)).astype(np.int64)
    return scipy.sparse.csr_array((times, x.indices, x.indptr), shape=x.shape)


def aligned(features: Sequence[Hashable], words: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return pairs (feature, word) that look alike, ascending in both; first those that nothing else looks like.

    Between two of them others may be alone in their looks that are not on the whole: so it goes on within.
    """
    seen = Counter(features), Counter(words)
    place = {look: j for j, look in enumerate(words)}
    alone = [(i, place[look]) for i, look in enumerate(features) if seen[0][look] == seen[1][look] == 1]
    chain = _ascending(alone)
    if not chain:
        return []
    pairs: list[tuple[int, int]] = []
    i0 = j0 = 0
    for i, j in [*chain, (len(features), len(words))]:
        pairs += [(i0 + k, j0 + m) for k, m in aligned(features[i0:i], words[j0:j])]
        pairs.append((i, j))
        i0, j0 = i + 1, j + 1
    return pairs[:-1]


def _ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a longest part of the pairs, whose first numbers ascend, in which the second ones do too."""
    ends: list[int] = []  # the least second number at which a chain of that length ends
    at: list[int] = []
    before: list[int] = []
    for k, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1], at[length : length + 1] = [j], [k]
    chain, k = [], at[-1] if at else -1
    while k >= 0:
        chain.append(pairs[k])
        k = before[k]
    return chain[::-1]


def _totals(m: Any, of_part: Index) -> list[tuple[int, ...]]:
    """Return of each column in how many rows of each part it occurs, and how often."""
    columns: list[Any] = []
    for part in np.unique(of_part):
        some = m[of_part == part]
        columns += [np.bincount(some.indices, minlength=m.shape[1]), np.asarray(some.sum(axis=0)).ravel()]
    return [tuple(int(value) for value in column) for column in zip(*columns, strict=True)]


def _only_equals(a: Any, b: Any, a_tags: Sequence[Any], b_tags: Sequence[Any]) -> Any:
    """Return the (k, 2) pairs of rows with equal tags and values that nothing else has."""
    found = []
    for m, tags in ((a, a_tags), (b, b_tags)):
        m.sort_indices()
        rows: dict[Any, list[int]] = defaultdict(list)
        for row, tag in enumerate(tags):
            part = slice(m.indptr[row], m.indptr[row + 1])
            content = np.concatenate([m.indices[part], m.data[part]], dtype=np.int64)
            rows[(*tag, content.tobytes())].append(row)
        found.append({key: where[0] for key, where in rows.items() if len(where) == 1})
    both = [(row, found[1][key]) for key, row in found[0].items() if key in found[1]]
    return np.array(both, dtype=np.int64).reshape(-1, 2)


def _grouping(rows: Any, words: Any, sure: Any, known: tuple[Index, Index]) -> Any:
    """Return the (words, features) matrix with a 1 where a word belongs to a feature: each word to one, or to none.

    It belongs where it would stand in the alphabet, to a feature that occurs wherever it does, and then to the rarest.
    """
    import scipy.sparse

    a, b = (m[which].astype(bool).astype(np.int32) for m, which in zip((rows, words), sure.T, strict=True))
    together = (b.T @ a).tocoo()
    word, feature = together.row, together.col
    distance = abs(np.interp(np.arange(words.shape[1]), known[1], known[0])[word] - feature)
    always = (together.data == np.bincount(b.indices, minlength=words.shape[1])[word]) & (distance <= _NEAR)
    word, feature, distance = word[always], feature[always], distance[always]
    order = np.lexsort((distance, np.bincount(a.indices, minlength=rows.shape[1])[feature], word))
    word, first = np.unique(word[order], return_index=True)
    shape = words.shape[1], rows.shape[1]
    return scipy.sparse.csr_array((np.ones(len(word), dtype=np.int64), (word, feature[order][first])), shape=shape)


def _assigned(a: Any, b: Any, sure: Any, a_tags: Sequence[Any], b_tags: Sequence[Any]) -> Index:
    """Return the row of b for each row of a: the sure ones, the rest with the greatest sum of cosines, tag by tag."""
    from scipy.optimize import linear_sum_assignment

    partner = np.full(a.shape[0], -1)
    partner[sure[:, 0]] = sure[:, 1]
    left, free = np.flatnonzero(partner < 0), np.setdiff1d(np.arange(b.shape[0]), sure[:, 1])
    for tag in sorted(set(a_tags)):
        mine = np.array([row for row in left.tolist() if a_tags[row] == tag], dtype=np.int64)
        theirs = np.array([row for row in free.tolist() if b_tags[row] == tag], dtype=np.int64)
        similar = (_unit(a[mine]) @ _unit(b[theirs]).T).toarray()
        at, to = linear_sum_assignment(similar, maximize=True)
        partner[mine[at]] = theirs[to]
    return partner


def _unit(m: Any) -> Any:
    import scipy.sparse

    damped = m.astype(np.float64)
    damped.data = 1.0 + np.log(damped.data)
    length = np.sqrt(np.asarray(damped.power(2).sum(axis=1)).ravel())
    return scipy.sparse.diags_array(1.0 / np.maximum(length, 1e-12)).tocsr() @ damped
