"""The two files of a release that are for its owner alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from aggopt.core.json_text import json_text
from aggopt.core.validation import Floats, Labels
from aggopt.partition._shared.block import Block


def write_key(to: Path, blocks: Sequence[Block], place: Labels, risk: Floats) -> None:
    """Write group, place in the masked table and risk of each record of the input."""
    several = len(blocks) > 1
    labels = {
        f"group_{number}" if several else "group": block.labels
        for number, block in enumerate(blocks, start=1)
    }
    pyarrow.csv.write_csv(
        pa.table({**labels, "released_record": place, "risk": risk}), to
    )


def write_json(to: Path, stated: dict[str, Any]) -> None:
    """Write a manifest."""
    to.write_bytes(f"{json_text(stated)}\n".encode())
