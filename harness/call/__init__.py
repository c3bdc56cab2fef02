"""``harness.compare(...)``: the command as a call, for scripts and notebooks."""
