"""Measures: their names, directions and formulas."""
