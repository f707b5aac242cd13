"""The pool rule: derive, reconcile, predict, solve."""
