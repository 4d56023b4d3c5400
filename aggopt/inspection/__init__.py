"""A job that is proposed for a table, and the check of a table with its job."""
