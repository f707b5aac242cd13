"""Rules that look at launches and say what is wrong."""
