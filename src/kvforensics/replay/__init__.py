"""Incident replay: the moments, the state at any of them, and a player."""
