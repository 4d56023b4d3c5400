"""The page on types: its code runs."""

import re
from pathlib import Path
from typing import Any

KINDS = ["numeric", "ordinal", "hierarchical"]
PAGE = Path(__file__).parents[2] / "docs" / "types.md"


def test_the_code_of_the_page_runs() -> None:
    fence = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    (code,) = fence.findall(PAGE.read_text("utf-8"))
    made: dict[str, Any] = {}
    exec(code, made)  # our own page
    assert made["groups"].sizes.tolist() == [3, 3]
    assert [each.kind for each in made["E"].attributes] == KINDS
