"""Methods: counts in, Result out."""
