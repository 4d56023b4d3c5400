"""The two files of a release that are for its owner alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from aggopt.core.text_formats import format_json
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, Labels
from aggopt.partition.shared.result import Block


def write_key(
    to: Path,
    blocks: Sequence[Block],
    place: Labels,
    risk: Floats,
    further: Mapping[str, npt.NDArray[Any]] = MappingProxyType({}),
    is_kept: Bool | None = None,
) -> None:
    """Write group, place in the masked table and risk of each record of the input.

    `further` are other figures of each record, by name.  `is_kept` marks the released
    records, all if it is None; the others have no figures.
    """
    several = len(blocks) > 1
    labels = {
        f"group_{number}" if several else "group": block.labels
        for number, block in enumerate(blocks, start=1)
    }
    columns = {**labels, "released_record": place, "risk": risk, **further}
    key = pa.table(columns)
    if is_kept is not None:
        key = key.take(pa.array(np.cumsum(is_kept) - 1, mask=~is_kept))
    pyarrow.csv.write_csv(key, to)


def write_json(to: Path, stated: dict[str, Any]) -> None:
    """Write a manifest."""
    to.write_bytes(f"{format_json(stated)}\n".encode())
