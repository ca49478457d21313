"""Tests of clfeval.methods.mars."""
