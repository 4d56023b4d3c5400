"""The command `aggopt`: its arguments, and its printed lines."""
