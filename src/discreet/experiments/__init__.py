"""Experiments: cells that run side by side and are kept, the paper's figures, the report."""
