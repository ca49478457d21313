"""Views: the same Result as terminal text, plots, JSON, CSV, Markdown, HTML or JUnit."""
