"""Tests of clfeval.methods."""
