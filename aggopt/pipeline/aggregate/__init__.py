"""From groups to published values."""
