"""Schemes: a frozen configuration whose `fit` takes ratings and gives a model."""
