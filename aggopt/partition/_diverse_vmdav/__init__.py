"""V-MDAV whose groups are l-diverse."""
