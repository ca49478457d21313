"""Tests of the installed program: real processes, pipes, signals, terminals and files."""
