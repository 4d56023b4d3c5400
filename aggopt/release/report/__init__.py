"""Pages for people: the report of a release, and what all pages share."""
