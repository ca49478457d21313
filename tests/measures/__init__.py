"""Tests of the measures: formulas of a 2 x 2 table, populations, the catalogue."""
