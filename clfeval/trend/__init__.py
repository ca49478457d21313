"""How measures moved over the lines of a history: rows or model, since when, how surely."""
