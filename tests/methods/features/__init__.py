"""Tests of phidelta for features, against scipy, plain arithmetic and a reference row by row."""
