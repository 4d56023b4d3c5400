"""Where the command `aggopt` starts: an interrupt is one from here on.

Importing this imports next to nothing; what the command imports takes a second, in
which Ctrl-C would else end in a traceback.
"""

import sys

EXIT = 130


def main() -> None:
    """Run the command; say in a sentence that it was interrupted before it began."""
    try:
        from aggopt.command.cli import main as run

        run()
    except KeyboardInterrupt:
        _say("Interrupted.", "run it again; no release was written.")
        sys.exit(EXIT)


def _say(problem: str, fix: str) -> None:
    if "--json" in sys.argv:
        import json

        print(json.dumps({"error": problem, "fix": fix, "exit": EXIT}))
    else:
        print(f"Error: {problem}\nTo fix: {fix}", file=sys.stderr)
