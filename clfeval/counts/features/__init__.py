"""Feature tables counted: per feature, how often it is true among positives and negatives."""
