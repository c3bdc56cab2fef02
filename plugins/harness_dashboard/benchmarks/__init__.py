"""The benchmarks of asv. The ``__path__`` of a repository's package of benchmarks contains this folder."""
