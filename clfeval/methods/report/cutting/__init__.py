"""Where to cut scores: thresholds by rule, and the zone in which no answer is given."""
