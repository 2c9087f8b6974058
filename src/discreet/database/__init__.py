"""The recommender's memory: ratings, people, the catalogue, releases and the ledger, in one place.

SQLite or PostgreSQL, through SQLAlchemy. Everything here is secret but the catalogue, the
declaration and the files of releases. Nothing here trains or draws noise.
"""
