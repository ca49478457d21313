"""The phi-delta plane: what classifiers and features discriminate, and which way they lean."""
