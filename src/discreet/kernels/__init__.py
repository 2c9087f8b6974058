"""Kernels: arrays in, arrays out, no randomness; compiled, with a NumPy twin in `reference`.

The twin is the specification: same signature, same result, slow. Threads and devices change no bit
of an integer sum, and nothing else beyond rounding.
"""
