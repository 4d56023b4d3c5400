"""State shared by all tasks of a run: no record; levels, scales, cuts and sums."""
