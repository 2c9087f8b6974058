"""Databases of both kinds."""

from tests.databases import database as database
from tests.databases import postgresql as postgresql
from tests.databases import sqlite as sqlite
