"""The campaign of faults: what it is there to notice is planted, and it is noticed; the same trial is the same again."""

import random
import sys
import textwrap

import pytest

from reports.robustness import campaign

PLANTED = """
    import os, pathlib, sqlite3, subprocess, sys
    done = subprocess.run([sys.executable, "-m", "harness", *sys.argv[1:]], stdout=subprocess.PIPE)
    sys.stdout.buffer.write(done.stdout)
    if "lost row" in {faults!r}:
        store = sqlite3.connect(os.environ["HARNESS_STORE"])
        store.execute("DELETE FROM records WHERE id = (SELECT max(id) FROM records)")
        store.commit()
    if "child" in {faults!r}:
        subprocess.Popen(["sleep", "60"], start_new_session=True, env={{}}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if "file" in {faults!r}:
        pathlib.Path("left").touch()
    sys.exit(done.returncode)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "noticed"),
    [(["lost row", "child", "file"], ["no row stored of ('smo', 0)", "left process", "left 1 files"]), ([], [])],
)
def test_a_lost_row_and_a_child_that_was_not_killed_are_noticed(faults, noticed, tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "SETTLING", 0.5)
    monkeypatch.setitem(campaign.KINDS, "plain", plain)
    wrapper = tmp_path / "wrapper.py"
    wrapper.write_text(textwrap.dedent(PLANTED.format(faults=faults)))
    broken = campaign.trial("plain", 0, 0, tmp_path / "trials", [sys.executable, str(wrapper)])
    assert len(broken) == len(noticed), broken
    assert all(words in sentence for words, sentence in zip(noticed, broken, strict=True))
    assert (tmp_path / "trials" / "plain-0").exists() == bool(faults), (
        "the files of a trial stay if something was wrong"
    )


def plain(place, rng):
    options = ("--formulation", "c-svc", "--datasets", campaign.DATA, "--format", "json")
    done = place.run("compare", "--plugins", "smo", *options)
    campaign.judge_words(place, done, (0,))
    campaign.judge_rows(place, done, [("smo", 0)], ["smo"])
    return "a comparison without a fault"


@pytest.mark.parametrize(
    ("done", "words"),
    [
        ((70, "", ""), "ended with 70"),
        ((None, "", ""), "had not ended after 9 s"),
        ((2, "", ""), "said nothing"),
        ((1, "", "Traceback (most recent call last):\n x"), "Traceback"),
        ((1, "\x1b]0;owned\x07", ""), "control character"),
        ((0, "", ""), None),
    ],
)
def test_words_that_break_a_promise_are_noticed(done, words, tmp_path):
    place = campaign.Place(tmp_path / "place", tmp_path / "cache")
    campaign.judge_words(place, campaign.Done(*done, 9.0), (0, 1, 2))
    assert len(place.broken) == (words is not None)
    assert words is None or words in place.broken[0]


def test_the_same_trial_is_the_same_again(tmp_path):
    def composed(number, place):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(campaign.Place, "run", lambda *arguments, **_: campaign.Done(0, repr(arguments[1:]), "", 0.0))
            patch.setattr(campaign, "judge_rows", lambda place, done, *_: place.broken.append(done.out))
            campaign.KINDS["plugins"](place, random.Random(f"7:plugins:{number}"))
        return place.broken

    first, again, other = (composed(n, campaign.Place(tmp_path / "place", tmp_path / "cache")) for n in (1, 1, 2))
    assert first == again != other
