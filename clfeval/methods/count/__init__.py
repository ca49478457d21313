"""Counts of a prediction table as a file."""
