"""Inference: intervals and tests on counts."""
