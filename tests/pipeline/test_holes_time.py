"""Limits of time and progress, where a partition is made pattern by pattern."""

import numpy as np
import pandas as pd
import pytest
from holed import of_numbers, persons

import aggopt
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.partition.subsets import report_share


def test_a_limit_of_time_is_shared_out_by_records(monkeypatch):
    asked = []
    plain = aggopt.partition.local_search

    def watched(X, k, **settings):
        asked.append((len(X), settings["time_limit"]))
        return plain(X, k, effort="fast")

    monkeypatch.setattr(
        "aggopt.pipeline.partition.partition_table.make_partitioner", lambda *_: watched
    )
    frame = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) ** 2})
    frame.loc[:9, "b"] = np.nan
    how = {"method": "local_search", "time_limit": 8.0}
    partition_table(frame, of_numbers(["a", "b"], 4, partition=how), None)
    assert sorted(asked) == [(10, 2.0), (30, 6.0)]


def test_progress_goes_from_start_to_end():
    seen = []

    def told(step, share):
        if step == "group":
            seen.append(share)

    partition_table(
        persons(60)[["age", "income"]], of_numbers(["age", "income"], 4), told
    )
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0.0, 1.0)


def test_a_part_tells_its_share_of_the_whole():
    seen = []
    report_share(seen.append, 3, 8, 0.5)
    assert seen == [pytest.approx(3.5 / 8)]
