"""The start of the command `aggopt`: it handles interrupts from here on.

Importing this imports next to nothing; importing the command takes a second, and Ctrl-C
would else end in a traceback meanwhile.
"""

import sys

EXIT = 130
BAD = 5  # importing `aggopt.command.causes`, which has both, takes longer


def main() -> None:
    """Run the command; print one sentence if it was interrupted before it began."""
    try:
        from aggopt.command.cli import run_app as run

        run()
    except KeyboardInterrupt:
        _exit_with_error("Interrupted.", "run it again; no release was written.", EXIT)
    except ImportError as error:
        from aggopt.core.dependencies import explain_misfits

        problem, fix = explain_misfits(error) or (f"{error}.", "report this line.")
        _exit_with_error(problem, fix, BAD)


def _exit_with_error(problem: str, fix: str, code: int) -> None:
    """Print a problem and its fix, and end with an exit code."""
    if "--json" in sys.argv:
        import json

        print(json.dumps({"error": problem, "fix": fix, "exit": code}))
    else:
        print(f"Error: {problem}\nTo fix: {fix}", file=sys.stderr)
    sys.exit(code)
