"""The page on kinds of files: its table is that of the endings."""

import re
from pathlib import Path

from aggopt.data.readers.formats import ENDINGS, READ_ONLY

PAGE = (Path(__file__).parents[2] / "docs" / "files.md").read_text("utf-8")


def test_the_table_has_every_ending_and_which_are_written() -> None:
    rows = re.findall(r"^\| (`\..*?) \|.*\| (yes) \| (yes|no) \|", PAGE, re.MULTILINE)
    found = {
        e: written for ends, _, written in rows for e in re.findall(r"\.\w+", ends)
    }
    assert {*found} == {*ENDINGS}
    assert {ending for ending in found if found[ending] == "no"} == {*READ_ONLY}
