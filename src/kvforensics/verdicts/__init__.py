"""Changes, knobs and sizing become verdicts."""
