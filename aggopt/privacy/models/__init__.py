"""Privacy models, one file each: requirements of a job on the groups of a release."""
