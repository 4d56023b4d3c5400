"""Formats of table files: one declaration a format, with its reader and writer."""
