"""Counting: the only part that touches rows, once, lazily; everything after is small arrays."""
