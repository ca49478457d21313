"""MARS: unique detections and unique misses of each classifier."""
