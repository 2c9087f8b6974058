"""The audit: attacks that try to refute a promise; to pass means "not refuted", never more.

In a game a mechanism is run many times on one of two tables that differ in one rating, or in one
person, and an attack says from what is released which table it was. How often it is right proves a
lower bound on epsilon, which is compared with the claim: docs/audit.md.
"""
