"""Models that can be traced by name."""
