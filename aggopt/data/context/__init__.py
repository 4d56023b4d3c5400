"""Columns with a role of their own: strata, units, weights, confidential attributes."""
