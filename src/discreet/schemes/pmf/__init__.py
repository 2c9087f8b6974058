"""Matrix factorisation: rating = user vector . item vector; the paper's three schemes.

PMF has no privacy; DP-PMF and PDP-PMF, in `dp`, add noise to its item vectors, as printed, as
stated in the paper's theorems, and repaired: docs/paper-schemes.md.
"""
