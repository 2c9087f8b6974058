"""Publishing over time: releases that add up, within a lifetime budget for every rating.

A ledger remembers what each pair of user and item has spent in earlier releases. `publish` is the
one way to publish; the ledger may be a file (`file_ledger`) or a database (`operate`).
"""
