"""MARS: what each classifier finds or misses that the others do not."""
