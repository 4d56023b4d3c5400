"""Variables of the environment that aggopt reads, and those that look like them."""

import os
from collections.abc import Iterator
from difflib import get_close_matches

from aggopt.command import console

PREFIX = "AGGOPT_"
VARIABLES = {
    "AGGOPT_ACCEPT": "tests rewrite the files of messages that they compare",
    "AGGOPT_DATA": "the folder of the reference tables",
    "AGGOPT_REQUIRE_IPOPT": "tests of IPOPT fail without it",
    "AGGOPT_SCRATCH": "the folder of a solver that runs in a process of its own",
}


def find_misspelt() -> Iterator[str]:
    """Yield a sentence for each variable that nothing reads, with the nearest one."""
    for name in sorted(os.environ):
        if name.upper().startswith(PREFIX) and name not in VARIABLES:
            near = get_close_matches(name.upper(), VARIABLES, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            yield (
                f"Note: nothing reads the variable {name}. {hint}"
                f"aggopt reads {', '.join(VARIABLES)}."
            )


def report_misspelt() -> None:
    """Print these sentences on standard error."""
    for sentence in find_misspelt():
        console.print_note(sentence)
