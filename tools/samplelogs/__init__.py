"""Makes the logs under sample_logs/. Standard library only, no clock, no chance: the same bytes every time."""
