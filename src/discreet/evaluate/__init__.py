"""Evaluation: splits, metrics and cross-validation; every result here depends on secret ratings.

It is for whoever owns the ratings: an error on held-out ratings is not covered by any epsilon.
"""
