"""`python -m aggopt` is the command `aggopt`."""

from aggopt.command.cli import main

if __name__ == "__main__":
    main()
