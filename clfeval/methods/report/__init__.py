"""`clfeval report`: the full assessment of a table of predictions."""
