"""A history: its lines, its file under locks and kills, and what is told of it."""
