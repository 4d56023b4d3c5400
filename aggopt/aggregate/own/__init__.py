"""Models of the user's: a function that declares a program, or a file of its own."""
