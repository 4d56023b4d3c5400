"""What k that counts units asks of a job and its table, asked alone."""

import numpy as np
import pytest
from asked import FRAME, NUMBERS, job, table
from refusals import refused

from aggopt.data.context.strata import RecordStrata
from aggopt.data.context.units import RecordUnits
from aggopt.errors import JobError
from aggopt.pipeline.prepare.defaults import add_repair_for_units
from aggopt.pipeline.prepare.job_settings import find_blocks
from aggopt.pipeline.prepare.prepared_table import prepare_table
from aggopt.pipeline.validate.units import (
    require_linkable,
    require_one_kind,
    require_units,
    require_units_declared,
)


def of_units(**sections):
    roles = {"unit": ["h"], **sections.pop("roles", {})}
    return job(roles=roles, **sections)


def test_groups_of_k_units_are_made_by_a_repair() -> None:
    units = RecordUnits(np.array([0, 0, 1, 1, 2, 2, 3]))
    asked = of_units()
    assert add_repair_for_units(asked, None) == (asked, ())
    assert add_repair_for_units(
        asked, RecordUnits(units.unit_of_record, table(asked))
    ) == (
        asked,
        (),
    )
    secret = {"privacy": {"l": 2, "repair": "merge"}, "roles": {"confidential": ["s"]}}
    merged = of_units(**secret)
    assert add_repair_for_units(merged, units) == (merged, ())
    said = "k counts units: groups are merged until each has records of k units, "
    found, why = add_repair_for_units(asked, units)
    assert found.privacy.repair.method == "search"
    assert found.model_copy(update={"privacy": asked.privacy}) == asked
    assert why == (f'{said}then searched further, by repair = "search".',)
    kept = of_units(partition={"method": "keep_groups", "keep_groups": "earlier.csv"})
    found, why = add_repair_for_units(kept, units)
    assert found.privacy.repair.method == "merge"
    assert why == (f'{said}by repair = "merge".',)


def test_numbers_of_units_that_nobody_named_are_refused_from_2k_on() -> None:
    frame = FRAME.assign(a=FRAME["h"] * 2.0, b=FRAME["h"] % 3)
    roles = {"other": ["h"]}
    require_units_declared(job(k=3, roles=roles), table(job(roles=roles), frame))
    with pytest.raises(JobError, match=r"^3 values of 'h' are of several records each"):
        require_units_declared(job(roles=roles), table(job(roles=roles), frame))


def test_blocks_are_of_units_alone_or_of_records_alone() -> None:
    blocks = [[0], [1]]
    units = RecordUnits(np.array([0, 0, 1, 1, 2, 2, 3]))
    asked = of_units(roles={"quasi-identifier": NUMBERS})
    with pytest.raises(JobError, match="are grouped in 2 blocks"):
        require_units(asked, blocks, units, None)
    apart = of_units(units={"attributes": ["a"]}, privacy={"scope": "blocks"})
    require_units(apart, blocks, units, None)


def test_pseudonyms_are_of_units_that_nothing_tells_apart() -> None:
    pairs = RecordUnits(np.array([0, 0, 1, 1, 2, 2]))
    alone = RecordUnits(np.arange(7))
    asked = of_units(units={"attributes": NUMBERS, "published": "pseudonym"})
    require_linkable(of_units(), pairs, None)
    require_linkable(asked, None, None)
    require_linkable(asked, alone, None)
    with pytest.raises(JobError, match="records of a unit are masked each by itself"):
        require_linkable(asked, pairs, None)
    require_linkable(asked, RecordUnits(pairs.unit_of_record, table(asked)), None)
    sizes = RecordUnits(np.array([0, 0, 1, 2, 2, 3]), table(asked))
    require_linkable(asked, sizes, RecordStrata(np.array([0, 1, 0, 1])))
    for strata in (None, RecordStrata(np.array([0, 0, 1, 1]))):
        with pytest.raises(JobError, match="4 units have 2 different numbers of rec"):
            require_linkable(asked, sizes, strata)


def test_attributes_of_units_and_of_records_are_blocks_and_grouped_by_mask_alone():
    apart = of_units(units={"attributes": ["b"]}, privacy={"scope": "blocks"})
    X = FRAME[NUMBERS].to_numpy()
    assert find_blocks(apart, X) == ((1,), (0,))
    whole = of_units(units={"attributes": NUMBERS})
    assert find_blocks(whole, X) == find_blocks(of_units(), X) == ((0, 1),)
    require_one_kind(whole)
    with refused(
        "Some quasi-identifiers are of units, and others of records: such a job is "
        "for aggopt mask, aggopt check, and what looks at releases.",
        "name those of one kind alone, and drop the others, as identifier.",
        JobError,
    ):
        require_one_kind(apart)


def test_patterns_are_apart_only_where_something_is_missing() -> None:
    asked = job(missing={"policy": "patterns"})
    assert prepare_table(table(asked), asked).apart is False
    holed = FRAME.assign(a=FRAME["a"].where(FRAME.index > 1))
    assert prepare_table(table(asked, holed), asked).apart is True
