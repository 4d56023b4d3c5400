"""Input: tables and the roles of their attributes, files, and requests."""
