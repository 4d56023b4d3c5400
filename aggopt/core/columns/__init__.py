"""Columns of tables, and confidential values."""
