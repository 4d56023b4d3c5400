"""l-diversity and t-closeness as constraints on groups."""
