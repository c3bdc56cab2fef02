"""All checks of the harness that concern this plugin, each of them a test."""

from harness.testing import checks_of

checks = checks_of("histograms")
