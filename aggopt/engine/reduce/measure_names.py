"""Names of measures and certificates in the manifest of a folder."""

LOSS = "information loss"  # losses are in percent of the variance; risks are shares
LOSS_OF_NUMBERS = "information loss of numbers"
LOSS_OF_CATEGORIES = "information loss of categories"
LOSSES = (LOSS, LOSS_OF_NUMBERS, LOSS_OF_CATEGORIES)
GROUPS = "groups"  # its certificate follows the certificates of attributes
