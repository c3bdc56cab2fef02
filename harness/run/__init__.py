"""Carrying out runs: the plan, the isolated warm workers, the result store."""
