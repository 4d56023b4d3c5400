"""The command `aggopt`: what it takes, what it prints for people."""
