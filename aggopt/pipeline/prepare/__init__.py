"""Before groups: the records to group, their blocks of attributes, and defaults."""
