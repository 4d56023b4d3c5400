"""The tasks of a run, and the plan that all tasks of a step share."""
