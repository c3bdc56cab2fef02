"""The benchmarks of asv; a repository's folder of benchmarks has this folder on its path."""
