"""Partitions of large tables: blocks of records, improved across their borders."""
