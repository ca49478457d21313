"""Reading: a path, a pipe or a data frame becomes a checked prediction table."""
