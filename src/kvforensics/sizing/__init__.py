"""The pool rule: derive, reconcile, predict, solve."""

from __future__ import annotations

from kvforensics.sizing.anchor import REFUSALS
from kvforensics.sizing.budget import Budget
from kvforensics.sizing.closure import WHY_NOT
from kvforensics.sizing.predict import SUPPORTED, Prediction, predict
from kvforensics.sizing.reconcile import reconcile
from kvforensics.sizing.solve import Answer, Solution, solve

__all__ = [
    "REFUSALS",
    "SUPPORTED",
    "WHY_NOT",
    "Answer",
    "Budget",
    "Prediction",
    "Solution",
    "predict",
    "reconcile",
    "solve",
]
