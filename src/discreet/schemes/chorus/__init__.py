"""Chorus: budgets, noisy rounds, and the directions they show; `scheme` puts them together."""
