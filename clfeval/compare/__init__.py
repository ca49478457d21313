"""Comparisons: the difference of two sides, its significance and its verdict."""
