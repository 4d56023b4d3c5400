"""What comes in: tables and the roles of their attributes, files, wishes."""
