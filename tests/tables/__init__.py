"""Tests of the door: what may come in, how it is read, and what is said when it may not."""
