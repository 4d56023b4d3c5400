"""The local page: from a table to a release, in the browser of this machine."""
