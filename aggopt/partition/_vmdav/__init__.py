"""V-MDAV: groups of k to 2k - 1 records."""
