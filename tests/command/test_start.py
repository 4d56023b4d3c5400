"""An interrupt while the command is imported ends as any other does."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
INTERRUPTED = """
import sys
from importlib.abc import MetaPathFinder

class Finder(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "aggopt.command.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Finder())
sys.argv = ["aggopt", "mask", *{words}]
from aggopt.command.start import main
main()
"""


def ended(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_interrupted_while_it_is_imported_it_says_so_in_a_sentence() -> None:
    said = ended(INTERRUPTED.format(words=[]))
    fix = "run it again; no release was written."
    assert said.stderr == f"Error: Interrupted.\nTo fix: {fix}\n"
    assert (said.returncode, said.stdout) == (130, "")
    said = ended(INTERRUPTED.format(words=["--json"]))
    assert json.loads(said.stdout) == {"error": "Interrupted.", "fix": fix, "exit": 130}
    assert (said.returncode, said.stderr) == (130, "")


def test_the_command_starts_where_next_to_nothing_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"aggopt": "aggopt.command.start:main"}
    heavy = {"numpy", "rich", "typer", "aggopt.command.cli"}
    code = (
        f"import aggopt.command.start, sys; sys.exit(bool({heavy} & set(sys.modules)))"
    )
    assert ended(code).returncode == 0
