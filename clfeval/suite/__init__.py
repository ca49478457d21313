"""Batches: a YAML file of runs, read whole, checked before anything is computed, run in turn."""
