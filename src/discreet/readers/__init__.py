"""Readers: files in the formats that people have, in; checked `Ratings` and `Items`, out."""
