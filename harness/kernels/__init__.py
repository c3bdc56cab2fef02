"""Kernel functions and the counted oracle that every solver reads kernel values from."""
