"""Many releases or solvers of one table, compared."""
