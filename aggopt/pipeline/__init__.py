"""The way of a record: from a table to an audited release."""
