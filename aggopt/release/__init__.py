"""The release: its audit, its files, and a recount of the written files."""
