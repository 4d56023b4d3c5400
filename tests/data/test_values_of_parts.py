"""Confidential values of a table in parts are those of the table."""

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from refusals import refused

from aggopt.data.context import confidential_parts as values_of_parts
from aggopt.data.context.confidential import read_confidential_attributes
from aggopt.data.context.confidential_parts import (
    WholeAttribute,
    count_entries,
    merge_entry_counts,
)
from aggopt.errors import InfeasibleInputError, TableError
from aggopt.job import Privacy
from aggopt.job.roles import Roles

OWN = {"confidential": {"ill": {"missing": "own value"}}}
ORDER = {"confidential": {"ill": {"order": ["low", "high"]}}}
PARTS = {
    "numbers": ([3, 1, 1], [3, 2], {"t": 0.2}),
    "numbers with points": ([0.5, 1.5, 1.5], [0.5, -0.5], {"t": 0.2, "l": 2}),
    "levels": ([3, 1, 1], [3, 2], {"l": 2, "confidential": {"ill": {"levels": 2}}}),
    "names": (["a", "b"], ["b", "c"], {"t": 0.2, "distance": "equal"}),
    "missing": ([None, 1.5], [2.5, None], {"t": 0.2, "distance": "equal"} | OWN),
    "an order": (["low", "high"], ["low", "low"], {"t": 0.2} | ORDER),
    "truth": ([True, False], [True], {"t": 0.2, "distance": "equal"}),
}


def column(values):
    return pa.chunked_array([pa.array(values)])


@pytest.mark.parametrize("what", PARTS)
def test_what_is_asked_of_a_part_is_what_the_table_asks_of_it(what):
    first, second, keys = PARTS[what]
    privacy = Privacy(k=2, **keys)
    together = merge_entry_counts(
        map(count_entries, map(column, (first, second))), "ill"
    )
    assert pc.sum(together["count"]).as_py() == len(first) + len(second)
    whole = WholeAttribute.of("ill", together, privacy, ".")
    table = nw.from_native(pa.table({"ill": column(first + second)}), eager_only=True)
    roles = Roles(quasi_identifier=("x",), confidential=("ill",))
    (held,) = read_confidential_attributes(table, roles, privacy, ".")
    ours = whole.among(table["ill"][: len(first)], ".")
    assert ours.name == "ill"
    assert len(ours.codes) == len(first)
    for mine, asked in zip(ours.requirements, held.requirements, strict=True):
        records, starts = np.arange(len(first)), np.array([0, len(first)])
        assert mine.measure_groups(records, starts) == asked.measure_groups(
            records, starts
        )
        assert mine.name == asked.name


def test_categories_count_as_what_they_stand_for():
    coded = pa.array(["b", "a", "b"]).dictionary_encode()
    found = count_entries(pa.chunked_array([coded])).to_pydict()
    assert found == {"value": ["b", "a"], "count": [2, 1]}


def test_one_value_spelled_in_two_ways_in_two_parts_is_refused():
    together = merge_entry_counts(
        map(count_entries, (column(["1"]), column(["01"]))), "ill"
    )
    with refused(TableError, "'ill'"):
        WholeAttribute.of("ill", together, Privacy(k=2, l=2), ".")


def test_values_that_look_alike_in_two_parts_are_refused():
    parts = map(count_entries, (column(["HIV"]), column(["hiv"])))
    together = merge_entry_counts(parts, "ill")
    with refused(TableError, "'ill'"):
        WholeAttribute.of("ill", together, Privacy(k=2, l=2), ".")


def test_more_values_than_processes_hold_are_refused(monkeypatch):
    monkeypatch.setattr(values_of_parts, "MOST", 2)
    parts = [count_entries(column([1, 2])), count_entries(column([3]))]
    with refused(InfeasibleInputError, "'ill'"):
        merge_entry_counts(parts, "ill")
    assert len(merge_entry_counts(parts[:1], "ill")) == 2


def test_nothing_is_shown_of_values():
    whole = WholeAttribute.of(
        "ill", count_entries(column([42, 43])), Privacy(k=2, l=2), "."
    )
    assert "42" not in repr(whole)
