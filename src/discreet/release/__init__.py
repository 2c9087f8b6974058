"""Releases: the only thing that leaves, what is computed from it, and how it is stored."""
