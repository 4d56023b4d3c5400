"""`python -m aggopt` is the command `aggopt`."""

from aggopt.command.start import main

if __name__ == "__main__":
    main()
