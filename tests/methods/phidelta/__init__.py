"""Tests of phidelta for classifiers: positions, populations, comparisons, curves, runs, lines."""
