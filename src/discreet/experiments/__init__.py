"""Experiments: many fits side by side, each kept on disk, and tables and figures of all of them.

cells.py runs and keeps the fits; paper.py says which of them the paper's figures need;
statements.py compares the paper's statements with the results; report.py writes the page; run.py
is what the command line calls.
"""
