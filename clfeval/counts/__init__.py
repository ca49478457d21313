"""Counting: the only part that reads rows, once and lazily; later steps use small arrays."""
