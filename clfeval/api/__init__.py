"""The public functions: a path or data frame in, a Result out; the command line calls them too."""
