"""From a prepared table to groups that satisfy the requirements."""
