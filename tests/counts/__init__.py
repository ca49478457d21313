"""Tests of clfeval.counts."""
