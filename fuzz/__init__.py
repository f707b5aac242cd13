"""Fuzzing: seeded campaigns with counted cases, and atheris targets, over the same invariants."""
