"""Names of measures and certificates in the manifest of a folder."""

LOSS = "information loss"  # in percent of the variance; risks are shares
GROUPS = "groups"  # its certificate follows the certificates of attributes
