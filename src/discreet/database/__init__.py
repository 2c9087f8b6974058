"""The service's database: people, ratings, the catalogue, releases and what they have spent.

SQLite or PostgreSQL, through SQLAlchemy. Everything here is secret but the catalogue, the
declaration and the files of releases. Nothing here trains or draws noise.
"""
