"""reports/lasvm_2005: the search for the paper's settings, and the features it scales."""

import numpy as np
import pytest

from harness.registry import load_registry
from reports.kit import sources
from reports.kit.study import PLUGINS
from reports.lasvm_2005.plan import PLAN


@pytest.mark.slow
@pytest.mark.usefixtures("raw_data")
def test_the_paper_s_own_settings_are_tried():
    tried = {
        (search.name, selection, gamma)
        for search in PLAN.searches
        for words, selection in search.features.items()
        for gamma in search.gammas[words]
    }
    for name in ("usps", "usps-n", "adult", "reuters", "waveform", "banana"):
        data = load_registry(list(PLUGINS)).select_datasets(PLAN.sets[name].selection.format(k=0))[0]
        assert (name, PLAN.sets[name].selection, data.load().defaults["gamma"]) in tried, name


def test_features_are_scaled_by_what_the_training_part_shows(monkeypatch):
    plain = sources.WithConstant(of="breast-cancer").load()
    monkeypatch.setattr(sources, "_loaded", lambda text: plain)
    found = {how: sources.Rescaled(how=how).load() for how in ("standard", "numeric", "unit")}
    shift, spread = plain.x_train.mean(axis=0), plain.x_train.std(axis=0)
    spread[-1] = 1.0
    np.testing.assert_allclose(found["standard"].x_test, (plain.x_test - shift) / spread)
    np.testing.assert_allclose(found["numeric"].x_test[:, :-1], found["standard"].x_test[:, :-1])
    assert (found["numeric"].x_test[:, -1] == 1.0).all(), "a column of one value stays"
    for given, scaled in zip(plain.x_test, found["unit"].x_test, strict=True):
        np.testing.assert_allclose(scaled, given / np.sqrt(sum(given**2)))
    assert len({each.sha256 for each in (plain, *found.values())}) == 4
    assert all((each.y_train == plain.y_train).all() for each in found.values())
