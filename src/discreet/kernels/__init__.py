"""Kernels: arrays in, arrays out, no randomness; compiled, with a NumPy twin in `reference`."""
