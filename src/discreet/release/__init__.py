"""Releases: what is published, how it is stored, and the recommendations computed from it.

A release holds numbers about items and a certificate, and nothing about any person. Whoever has one
and some ratings of their own gets recommendations without asking anybody.
"""
