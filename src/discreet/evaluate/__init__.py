"""Evaluation: splits, metrics and cross-validation; every result here depends on secret ratings."""
