"""The service: people rate, get recommendations, and see what leaves about them.

It serves and cannot train: what it computes for a person comes from that person's own ratings and
the latest release. Publishing is a program of its own that it starts (`discreet.operate`).
"""
