"""Reuters-21578: the SGML, the ModApte split, and which document each row of the LASVM paper's file is."""

from __future__ import annotations

import bz2
import hashlib
import io
import itertools
import re
import tarfile
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.datasets import reuters_rows, validate
from harness.datasets.reuters import Document, ReutersCategory, documents, modapte, parsed
from harness.datasets.reuters_rows import Part, _ascending, aligned, counts, documents_of
from harness.datasets.sparse import Reuters
from harness.errors import DataError

SGML = """<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="1">
<DATE>26-FEB-1987</DATE><TOPICS><D>crude</D><D>money-fx</D></TOPICS><PLACES><D>usa</D></PLACES>
<UNKNOWN>&#5;&#5;F Y</UNKNOWN>
<TEXT>&#2;
<TITLE>OIL &lt;BP></TITLE>
<DATELINE>    LONDON, Feb 26 - </DATELINE><BODY>It rose by
1 dlr AT&amp;T said.
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="NO" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5545" NEWID="2">
<TOPICS></TOPICS><TEXT TYPE="BRIEF"><TITLE>NEWS</TITLE></TEXT>
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TEST" CGISPLIT="TRAINING-SET" OLDID="5546" NEWID="3">
<TOPICS><D>crude</D></TOPICS><TEXT TYPE="UNPROC">&#2;
wheat &lt;and> CORN
</TEXT>
</REUTERS>
"""


def test_a_document_is_its_title_and_body_with_entities_decoded():
    one, two, three = parsed(SGML, "here")
    assert (one.number, one.split, one.has_topics, one.topics) == (1, "TRAIN", True, ("crude", "money-fx"))
    assert one.text.split() == ["OIL", "<BP>", "It", "rose", "by", "1", "dlr", "AT&T", "said.", "Reuter"]
    assert (two.number, two.has_topics, two.topics, two.text.split()) == (2, False, (), ["NEWS"])
    assert (three.split, three.topics) == ("TEST", ("crude",))
    assert three.text.split()[-3:] == ["wheat", "<and>", "CORN"]


def test_what_is_no_collection_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"'here': a document has NEWID='x'; expected a number\. Fetch it again"):
        list(parsed(SGML.replace('NEWID="1"', 'NEWID="x"'), "here"))
    with tarfile.open(tmp_path / "empty.tar.xz", "w:xz"):
        pass
    with pytest.raises(DataError, match=r"empty\.tar\.xz' holds no documents of Reuters-21578; expected \.sgm files"):
        documents(tmp_path / "empty.tar.xz")


def test_the_split_trains_on_documents_with_a_topic_that_both_parts_have():
    def article(number, split, yes, *topics):
        return Document(number, split, yes, topics, "")

    articles = [
        article(1, "TRAIN", True, "crude"),
        article(2, "TRAIN", True, "rye"),  # no document for testing
        article(3, "TRAIN", True),
        article(4, "TRAIN", False, "crude"),
        article(5, "TRAIN", True, "rye", "crude"),
        article(6, "TEST", True, "crude", "gold"),
        article(7, "TEST", True),
        article(8, "NOT-USED", True, "crude"),
    ]
    train, test, topics = modapte(articles)
    assert [one.number for one in train] == [1, 5]
    assert [one.number for one in test] == [6, 7]
    assert topics == ("crude",)


@given(st.lists(st.integers(0, 30), max_size=12, unique=True))
def test_the_ascending_part_is_a_longest_one(seconds):
    pairs = list(enumerate(seconds))
    chain = _ascending(pairs)
    assert chain == sorted(chain)
    assert [j for _, j in chain] == sorted(j for _, j in chain)
    assert set(chain) <= set(pairs)
    lengths = (
        len(some)
        for size in range(len(pairs) + 1)
        for some in itertools.combinations(seconds, size)
        if list(some) == sorted(some)
    )
    assert len(chain) == max(lengths)


@given(st.text("abcd", max_size=15), st.text("abcd", max_size=15))
def test_aligned_pairs_look_alike_and_ascend_in_both(features, words):
    pairs = aligned(features, words)
    assert all(features[i] == words[j] for i, j in pairs)
    assert all(i < k and j < m for (i, j), (k, m) in itertools.pairwise(pairs))
    alone = {c for c in features if features.count(c) == words.count(c) == 1}
    if len(alone) == 1:
        assert (features.index(*alone), words.index(*alone)) in pairs


def test_alignment_goes_on_between_those_that_are_alone():
    assert aligned("aXaYb", "cXaYbX") == [(1, 1), (2, 2), (3, 3), (4, 4)] or aligned("aYa", "bYa") == [(1, 1), (2, 2)]


@dataclass
class Corpus:
    """Two parts of made-up articles, their shuffled rows, and which document each row is."""

    texts: tuple[list[str], list[str]]
    positive: tuple
    x: tuple
    order: tuple

    @property
    def parts(self):
        rows = zip(self.x, self.texts, self.positive, self.order, strict=True)
        return [Part(x, np.where(positive[order], 1.0, -1.0), texts, positive) for x, texts, positive, order in rows]


def weights(table):
    """Return the rows of a table of counts as the file has them."""
    n = len(table)
    x = np.where(table > 0, 1.0 + np.log(np.maximum(table, 1)), 0.0) * np.log(
        n / np.maximum((table > 0).sum(axis=0), 1)
    )
    return x / np.sqrt((x**2).sum(axis=1, keepdims=True))


def corpus(seed, sizes=(300, 120), stems=400):
    rng = np.random.default_rng(seed)
    names = sorted({"".join(rng.choice(list("bcdfglmnprst") + list("aeiou"), 6)) for _ in range(stems)})
    forms = [[name, *(f"{name}{end}" for end in ("ed", "s") if rng.random() < 0.4)] for name in names]
    chance = 1.0 / np.arange(2, len(names) + 2)[rng.permutation(len(names))]
    texts, tables = [], []
    for size in sizes:
        table = rng.poisson(25 * chance / chance.sum() * rng.gamma(0.5, 2.0, (size, len(names))))
        table[np.arange(size), rng.permutation(size) % len(names)] = 1  # a word that occurs once in each
        texts.append(
            [
                " ".join(str(rng.choice(forms[k])) for k in rng.permutation(np.repeat(np.arange(len(names)), row)))
                for row in table
            ]
        )
        tables.append(table)
    kept = np.flatnonzero(sum((table > 0).sum(axis=0) for table in tables) >= 3)
    order = tuple(rng.permutation(size) for size in sizes)
    x = tuple(scipy.sparse.csr_array(weights(table[:, kept])[o]) for table, o in zip(tables, order, strict=True))
    return Corpus(tuple(texts), tuple(rng.random(size) < 0.2 for size in sizes), x, order)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_counts_are_had_back_from_weights(seed):
    rng = np.random.default_rng(seed)
    table = rng.poisson(0.7, (12, 9)) * rng.integers(1, 60, (12, 9))
    table[np.arange(12), rng.integers(0, 9, 12)] = 1
    table[:, (table > 0).all(axis=0)] = 0  # its weight would be 0
    table = table[(table == 1).any(axis=1)]
    if len(table) < 2 or ((table > 0).sum(axis=0) == len(table)).any():
        return
    np.testing.assert_array_equal(counts(scipy.sparse.csr_array(weights(table))).toarray(), table)


def test_equal_rows_are_sure_only_where_nothing_else_equals_them():
    a = scipy.sparse.csr_array(np.array([[1, 0, 2], [0, 3, 0], [0, 3, 0], [5, 0, 0], [1, 0, 2]]))
    b = scipy.sparse.csr_array(np.array([[5, 0, 0], [1, 0, 2], [0, 3, 0], [1, 0, 2], [0, 5, 0]]))
    tags = [("yes",), ("yes",), ("yes",), ("yes",), ("no",)]
    assert reuters_rows._only_equals(a, b, tags, tags).tolist() == [[3, 0]]
    assert reuters_rows._only_equals(a, b, tags, [*tags[:3], ("no",), ("no",)]).tolist() == [[0, 1], [3, 0], [4, 3]]


def test_the_rest_go_to_what_is_most_alike_tag_by_tag():
    a = scipy.sparse.csr_array(np.array([[1, 0, 2, 0], [0, 3, 0, 1], [4, 0, 0, 0], [1, 1, 0, 0]]))
    b = scipy.sparse.csr_array(np.array([[1, 1, 0, 0], [4, 0, 1, 0], [0, 2, 0, 2], [2, 0, 3, 0]]))
    nothing = np.empty((0, 2), dtype=np.int64)
    one = [("yes",)] * 4
    assert reuters_rows._assigned(a, b, nothing, one, one).tolist() == [3, 2, 1, 0]
    assert reuters_rows._assigned(a, b, np.array([[2, 3]]), one, one).tolist() == [1, 2, 3, 0]
    two = [("yes",), ("yes",), ("no",), ("no",)]
    assert reuters_rows._assigned(a, b, nothing, two, two).tolist() == [1, 0, 3, 2]


def test_a_word_belongs_to_a_stem_near_it_that_occurs_wherever_it_does():
    stems = np.zeros((8, 30), dtype=np.int64)
    stems[:, 3], stems[:4, 4], stems[:2, 20] = 1, 1, 1
    words = np.zeros((8, 30), dtype=np.int64)
    words[:2, 3], words[3:5, 4], words[:2, 12] = 1, 1, 1
    same = np.column_stack([np.arange(8)] * 2)
    made = reuters_rows._grouping(*map(scipy.sparse.csr_array, (stems, words)), same, (np.array([0, 29]),) * 2)
    # the first goes to the rarer of its neighbours, not to the rarest of all; the last has no stem near
    assert list(zip(*(part.tolist() for part in made.nonzero()), strict=True)) == [(3, 4), (4, 3)]


@pytest.mark.parametrize("seed", range(3))
def test_every_row_finds_its_document(seed):
    made = corpus(seed)
    for (document, verified), order in zip(documents_of(made.parts), made.order, strict=True):
        assert sorted(document) == list(range(len(order)))
        assert (document == order).mean() > 0.99
        assert verified[document == order].mean() > 0.95


def test_a_row_with_another_document_is_not_verified(monkeypatch):
    made = corpus(0)

    assigned = reuters_rows._assigned

    def exchanged(*args):
        partner = assigned(*args)
        partner[:60] = partner[:60][::-1]
        return partner

    right = documents_of(made.parts)[0][1]
    monkeypatch.setattr(reuters_rows, "_assigned", exchanged)
    (document, verified), _ = documents_of(made.parts)
    assert (document == made.order[0])[60:].mean() > 0.99
    assert (verified[:60].sum(), right[:60].sum()) == (0, 60)
    np.testing.assert_array_equal(verified[60:], right[60:])


@pytest.fixture
def miniature(tmp_path, monkeypatch):
    """Reuters in small: two files of rows and the SGML, under a raw folder of their own."""
    made = corpus(5)
    contents = {}
    for name, part in zip(Reuters.files, made.parts, strict=True):
        rows = (
            f"{sign:+.0f} " + " ".join(f"{k + 1}:{value!r}" for k, value in enumerate(row.tolist()) if value)
            for sign, row in zip(part.y, part.x.toarray(), strict=True)
        )
        contents[name] = bz2.compress("\n".join(rows).encode() + b"\n")
    topics = [
        ["money-fx" if yes else "earn"] + ["crude"] * (k % 7 == 0)
        for yes_ in made.positive
        for k, yes in enumerate(yes_)
    ]
    splits = ["TRAIN"] * 300 + ["TEST"] * 120
    sgml = "".join(
        f'<REUTERS TOPICS="YES" LEWISSPLIT="{split}" NEWID="{k}"><TOPICS>{"".join(f"<D>{t}</D>" for t in of)}</TOPICS>'
        f"<TEXT><TITLE>{text.upper()}</TITLE></TEXT></REUTERS>\n"
        for k, (split, of, text) in enumerate(zip(splits, topics, [*made.texts[0], *made.texts[1]], strict=True))
    ).encode()
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:xz") as tar:
        member = tarfile.TarInfo("reuters21578/reut2-000.sgm")
        member.size = len(sgml)
        tar.addfile(member, io.BytesIO(sgml))
    contents["reuters/reuters21578-sgm.tar.xz"] = archive.getvalue()
    (tmp_path / "reuters").mkdir()
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setattr(ReutersCategory, "files", hashes)
    monkeypatch.setattr(Reuters, "files", dict(list(hashes.items())[:2]))
    return made


def test_a_miniature_from_its_files(miniature):
    reuters, crude = Reuters().load(), ReutersCategory().load()
    validate(crude)
    assert (crude.x_train != reuters.x_train).nnz == 0
    assert (crude.x_test != reuters.x_test).nnz == 0
    agree = (crude.y_train > 0) == (miniature.order[0] % 7 == 0)
    assert ((crude.y_train > 0).sum(), (crude.y_test > 0).sum()) == (43, 18)
    assert agree.mean() > 0.99
    money = ReutersCategory(category="money-fx").load()
    np.testing.assert_array_equal(money.y_train, reuters.y_train)
    np.testing.assert_array_equal(money.y_test, reuters.y_test)
    assert dict(money.defaults) == {"kernel": "rbf", "gamma": 0.5, "C": 1.0}
    sizes = (money.y_train < 0).sum(), (money.y_train > 0).sum()
    listed = rf"earn \({sizes[0]}\), money-fx \({sizes[1]}\), crude \(43\)\. Choose one of the topics\."
    with pytest.raises(
        DataError, match=rf"category='crud' is none of the 3 topics .* \(did you mean 'crude'\?\).*{listed}"
    ):
        ReutersCategory(category="crud").load()


def test_labels_that_cannot_be_trusted_are_refused(miniature, monkeypatch):
    def exchanged(parts):
        return [
            (document[::-1], verified & (np.arange(len(verified)) > 20)) for document, verified in documents_of(parts)
        ]

    monkeypatch.setattr("harness.datasets.reuters.documents_of", exchanged)
    with pytest.raises(DataError, match=r"\d+ of 300 train rows of the file have the words of their .*expected 99%"):
        ReutersCategory().load()


# topic: training and test documents, C, gamma; corn and trade are in Table 1 of Ertekin et al. 2007, the rest in Table 2
TOPICS = {
    "corn": (181, 56, 1.0, 0.5),
    "crude": (389, 189, 2.0, 1.0),
    "grain": (433, 149, 2.0, 1.0),
    "interest": (347, 131, 1.0, 2.0),
    "money-fx": (538, 179, 1.0, 0.5),
    "ship": (197, 89, 1.0, 0.5),
    "trade": (369, 117, 1.0, 0.5),
    "wheat": (212, 71, 1.0, 0.5),
}


@pytest.mark.slow
@pytest.mark.usefixtures("raw_data")
@pytest.mark.parametrize("topic", TOPICS)
def test_topics_have_the_papers_counts(topic):
    positive, positive_test, c, gamma = TOPICS[topic]
    data, reuters = ReutersCategory(category=topic).load(), Reuters().load()
    validate(data)
    assert ((data.y_train > 0).sum(), len(data.y_train)) == (positive, 7770)
    assert ((data.y_test > 0).sum(), len(data.y_test)) == (positive_test, 3299)
    assert dict(data.defaults) == {"kernel": "rbf", "gamma": gamma, "C": c}
    assert (data.x_train != reuters.x_train).nnz == (data.x_test != reuters.x_test).nnz == 0
    if topic == "money-fx":
        np.testing.assert_array_equal(data.y_train, reuters.y_train)
        np.testing.assert_array_equal(data.y_test, reuters.y_test)


@pytest.mark.usefixtures("raw_data")
def test_rows_are_the_documents_they_are_said_to_be(own_cache):
    ReutersCategory().load()
    (folder,) = own_cache.glob("parsed/reuters-topics-*")
    train, test = (np.load(folder / f"{part}_documents.npy") for part in ("train", "test"))
    verified = [np.load(folder / f"{part}_verified.npy").sum() for part in ("train", "test")]
    assert (len(set(train.tolist())), len(set(test.tolist()))) == (7770, 3299)
    assert verified[0] >= 7700
    assert verified[1] >= 3280
    # the rows for testing are the positives in the order of the collection, then the others: nothing here uses that
    y = Reuters().load().y_test
    assert (y[:179] > 0).all()
    descents = sum(int((np.diff(test[y == sign]) < 0).sum()) for sign in (1, -1))
    assert descents <= 2  # two articles of the same words have changed places
    with pytest.raises(
        DataError, match=re.escape("the largest, with their training documents, are earn (2877), acq (1650)")
    ):
        ReutersCategory(category="oil").load()
