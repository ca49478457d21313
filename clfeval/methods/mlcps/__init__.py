"""MLcps: several metrics combined into one score, the area of a polygon, and rank stability."""
