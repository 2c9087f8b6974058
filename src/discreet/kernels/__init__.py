"""Kernels: arrays in, arrays out, no randomness; `cpu` is compiled, `reference` is its twin."""
