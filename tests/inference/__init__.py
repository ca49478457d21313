"""Tests of clfeval.inference."""
