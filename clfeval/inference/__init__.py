"""Inference: intervals and tests on counts, with numpy alone."""
