"""Batches: a YAML file of runs, read completely, checked before computing, run in order."""
