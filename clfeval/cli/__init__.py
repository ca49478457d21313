"""The command line: parses, calls the public functions, prints; heavy imports stay in functions."""
