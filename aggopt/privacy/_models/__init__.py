"""Privacy models, one file each: what a job can ask of the groups of a release."""
