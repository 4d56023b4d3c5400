"""Entries that are told apart, whatever their column mixes."""

import narwhals.stable.v2 as nw
import pandas as pd

from aggopt.release.audit.counts import encode_entries


def test_entries_that_no_file_can_hold_are_told_apart_by_type_and_text():
    entries = [1, "1", 1.0, "a\ud800", "b", "a\ud800", 1]
    column = nw.from_native(pd.Series(entries, dtype=object), series_only=True)
    assert encode_entries(column).tolist() == [0, 1, 2, 3, 4, 3, 0]
