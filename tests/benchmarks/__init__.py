"""Measurements of time and memory against named peers, run by `make bench`."""
