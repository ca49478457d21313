"""What tune-jpt is asked for, by every way in, and what it refuses."""
