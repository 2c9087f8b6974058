"""Ratings and items as values: validated tables, ids, scales, public features."""
