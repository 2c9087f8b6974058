"""Experiments: many evaluations side by side, kept on disk; the paper's figures and their report.

A job is a scheme with its parameters on a table; a cell is one fold of it. Cells that are done are
found again after an interruption.
"""
