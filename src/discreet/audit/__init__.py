"""Audit: attack every guarantee. A pass means "not refuted", never more."""
