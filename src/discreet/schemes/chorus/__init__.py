"""Chorus: private item factors, by a few rounds of noisy sums on top of Tally's votes.

`budget` divides everybody's epsilon among the steps, `rounds` makes the noisy sums, `directions`
estimates item factors from them, and `scheme` puts the three together: docs/proofs/chorus.md.
"""
