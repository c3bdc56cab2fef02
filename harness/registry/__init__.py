"""Plugins: their hooks, discovery and validation, and the selections and subproblem oracles that name what they bring."""
