"""Gates: limits and a baseline, judged on unrounded values; an undefined value never passes."""
