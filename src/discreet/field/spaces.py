"""What is searched for each scheme of the field: where its hyper-parameters may lie.

No search has ended on a bound that could be wider: what is "log" or "whole" goes from where a
parameter does next to nothing to where it does too much. Powers of adaptive weights are those of
the papers, since without any DPALS is not adaptive.
"""

from __future__ import annotations

from typing import Any

Space = dict[str, tuple[str, Any]]
"""For every parameter how it is drawn: ("log", (low, high)), ("linear", ...), ("of", choices) or
("whole", (low, high)), whole numbers evenly on a logarithmic scale."""

_WIDTHS = ("of", (0.5, 0.75, 1.0, 1.5, 2.0, 3.0))
POWER: Space = {"power": ("of", (0.25, 0.5))}
ENCODER: Space = {"feature_ridge": ("log", (0.1, 3000.0))}
BIASES: Space = {"first_share": ("log", (0.03, 0.9)), "width": _WIDTHS}
SAMPLING: Space = {
    "sampling": ("of", ("uniform", "tail")),
    "kept": ("of", (10, 20, 50, 100, 200, 400)),
}
ALTERNATING: Space = {
    "factors": ("whole", (2, 20)),
    "rounds": ("whole", (1, 6)),
    "first_share": ("log", (0.01, 0.6)),
    "matrix_share": ("linear", (0.03, 0.9)),
    "user_ridge": ("log", (0.03, 100.0)),
    "item_ridge": ("log", (0.01, 100.0)),
    "noise_ridge": ("log", (0.1, 100.0)),
    "fold_ridge": ("log", (0.1, 300.0)),
}
CHOICES: Space = {
    "factors": ("whole", (2, 20)),
    "rounds": ("whole", (1, 6)),
    "power": ("of", (0.0, 0.25, 0.5)),
    "first_share": ("log", (0.01, 0.5)),
    "matrix_share": ("linear", (0.03, 0.9)),
    "others": ("log", (0.001, 3.0)),
    "item_others": ("log", (0.0001, 3.0)),
    "user_ridge": ("log", (0.03, 300.0)),
    "item_ridge": ("log", (0.01, 100.0)),
    "noise_ridge": ("log", (0.1, 100.0)),
}
GRADIENTS: Space = {
    "factors": ("whole", (2, 24)),
    "steps": ("of", (3, 6, 12, 24)),
    "clip": ("log", (0.03, 10.0)),
    "learning_rate": ("log", (0.03, 10.0)),
    "first_share": ("log", (0.03, 0.9)),
    "width": _WIDTHS,
    "user_ridge": ("log", (0.1, 100.0)),
    "shrink": ("log", (1.0, 1000.0)),
    "fold_ridge": ("log", (0.3, 1000.0)),
}
"""Every step sees everybody: samples would have to make up for their own noise."""
COVARIANCE: Space = {
    "factors": ("whole", (1, 40)),
    "least": ("log", (300.0, 10_000.0)),
    "first_share": ("log", (0.02, 0.9)),
    "width": _WIDTHS,
    "balance": ("linear", (0.0, 0.6)),
    "shrink": ("log", (0.3, 300.0)),
    "fold_ridge": ("log", (0.1, 300.0)),
}
DIRECTIONS: Space = {
    "rounds": ("whole", (1, 12)),
    "least": ("log", (0.3, 300.0)),
    "count_share": ("log", (0.01, 0.5)),
    "length": ("log", (1.0, 30.0)),
    "radius": ("log", (0.3, 100.0)),
    "corrective": ("of", (False, True)),
    "fold_ridge": ("log", (0.001, 30.0)),
}
PERTURBED: Space = {
    "factors": ("whole", (1, 40)),
    "ridge": ("log", (0.01, 10.0)),
    "shrink": ("log", (1.0, 1000.0)),
    "fold_ridge": ("log", (0.3, 300.0)),
    "sweeps": ("whole", (1, 12)),
}
OBJECTIVE: Space = {
    "factors": ("whole", (1, 16)),
    "ridge": ("log", (0.01, 300.0)),
    "people_ridge": ("log", (0.01, 3.0)),
    "fold_ridge": ("log", (0.3, 1000.0)),
    "sweeps": ("whole", (1, 12)),
}
OWN: Space = {"own_ridge": ("log", (0.5, 50.0))}
