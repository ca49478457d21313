"""Measures of predictions by name, each with its interval: what every command may be asked for."""
