"""The phi-delta plane: discrimination and bias of classifiers and features."""
