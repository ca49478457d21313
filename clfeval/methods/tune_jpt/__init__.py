"""JPT normalisation and tuning: measures of a classifier at other class ratios."""
