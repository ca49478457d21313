"""A result beside what was: a table, a saved result or a line of a history."""
