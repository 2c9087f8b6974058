"""Matrix factorisation: PMF without privacy, and the paper's DP-PMF and PDP-PMF in `dp`."""
