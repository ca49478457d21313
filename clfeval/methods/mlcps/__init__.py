"""Many metrics folded into one score: the area of their polygon, and how firm its ranks are."""
