"""Groups that lose least if each publishes values that are true of all its records."""
