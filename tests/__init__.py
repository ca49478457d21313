"""Tests of clfeval, mirroring the package."""
