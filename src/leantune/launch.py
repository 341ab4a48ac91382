"""A job file at work."""
