"""What the manifest of a folder calls what is measured and proven of it."""

LOSS = "information loss"  # in percent of the variance; risks are shares
GROUPS = "groups"  # whose certificate stands beside those of attributes
