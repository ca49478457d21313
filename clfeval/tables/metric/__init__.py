"""Metric tables: models x metrics from a file or a data frame, in any layout."""
