"""JPT normalisation and tuning: what a classifier does at another class ratio."""
