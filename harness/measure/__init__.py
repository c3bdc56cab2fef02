"""Measuring: the drive loop with its stopwatch and budgets, the anytime trace, the machine's description."""
