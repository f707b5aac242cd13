"""Engines beyond this machine's processes, each a thin adapter of `scan.engine.Engine`."""
