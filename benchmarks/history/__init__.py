"""What asv measures of each commit: the benchmarks of svm-harness on the cells of ``../grid.json``."""

import os

__path__.append(os.environ["HARNESS_HISTORY_BENCHMARKS"])  # set by the plugin that asv.conf.json names
