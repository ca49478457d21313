"""Attacks on the door: damaged files, senseless command lines, signals and kills at any moment."""
