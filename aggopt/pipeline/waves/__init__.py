"""Later releases of the same people, in the groups of an earlier one."""
