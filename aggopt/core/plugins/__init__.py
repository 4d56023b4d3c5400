"""User code that a job names: loading, trust, settings and errors."""
