"""Evaluation: train on some ratings, predict the others, and measure how far off that is.

Every result depends on secret ratings, so it is for their owner.
"""
