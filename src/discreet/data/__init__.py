"""Ratings and items as frozen values: tables in, checked and numbered, for everything else.

`Ratings` is the secret table (user, item, rating, perhaps epsilon and time); `Items` the public
catalogue. Both keep external ids outside and row numbers inside.
"""
