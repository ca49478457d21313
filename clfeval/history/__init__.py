"""A history: what runs found, a line for each model, kept beside the code in git."""
