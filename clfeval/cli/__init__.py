"""The command line: parsing, calls of the public functions, output; heavy imports are local."""
