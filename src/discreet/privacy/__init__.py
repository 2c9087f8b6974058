"""Differential privacy: levels, noise, accounting, budgets over time, and what may be claimed.

A rating's level is its epsilon: what is released may be at most e^epsilon times as likely with the
rating as without it. `spec` says which level each rating has, `personalise` serves different levels
by one mechanism, `noise` draws, `certificate` derives what a release promises.
"""
