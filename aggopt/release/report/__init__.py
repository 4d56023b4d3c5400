"""Pages of HTML: the report of a release, and the parts that all pages share."""
