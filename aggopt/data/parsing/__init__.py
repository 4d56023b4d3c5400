"""Text, numbers, dates and categories from the entries of columns."""
