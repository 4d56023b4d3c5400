"""Attributes of units and of records in one job: what each step hands on."""

from types import SimpleNamespace

import numpy as np
import pytest
from households import OF_UNITS, of
from refusals import refused

from aggopt.errors import JobError
from aggopt.partition.shared.result import Block
from aggopt.pipeline.aggregate import units_and_records as steps
from aggopt.pipeline.aggregate.aggregate_table import AggregatedTable
from aggopt.pipeline.aggregate.units_and_records import (
    _join_parts,
    _of,
    mask_units_and_records,
    require_plain,
)
from aggopt.pipeline.partition.partitioned_table import PartitionedTable

HOUSEHOLD = "household"
QUASI = ["age", "income", "height", "rooms"]
BOTH = {"units": {"attributes": OF_UNITS}, "privacy": {"k": 3, "scope": "blocks"}}


def both(**sections):
    return of(QUASI, **{**BOTH, **sections})


P3M = {"method": "p3m", "delta": 0.3, "categories": {"method": "plurality"}}
OF_EACH = {"income": {"lower": 0}, "age": {"upper": 99}}
PARTS = {  # names, their method, whether it is said of categories, names of units
    "numbers of units": (["income"], "p3m", False, ("income",)),
    "numbers of records": (["age", "height"], "p3m", False, ()),
    "names alone": (["ill"], "mean", True, ()),
    "names and numbers": (["age", "ill"], "p3m", True, ()),
}


@pytest.mark.parametrize("case", PARTS)
def test_the_job_of_one_kind_masks_it_and_drops_the_other(case) -> None:
    names, method, said, units = PARTS[case]
    roles = {
        "quasi-identifier": ["income", "age", "height", "ill"],
        "unit": [HOUSEHOLD],
        "identifier": ["region", "rooms"],
    }
    job = both(
        roles=roles,
        aggregation=P3M,
        attributes=OF_EACH,
        units={"attributes": ["income"]},
    )
    left = [name for name in job.roles.quasi_identifier if name not in names]
    made = _of(job, SimpleNamespace(domains={"ill": None}), names, left)
    assert made.roles.quasi_identifier == names
    assert made.roles.identifier == ("region", "rooms", *left)
    assert made.roles.unit == (HOUSEHOLD,)
    assert list(made.attributes) == [name for name in OF_EACH if name in names]
    assert tuple(made.units.attributes) == units
    assert made.aggregation.method == method
    kept = job.aggregation.categories if said else None
    assert made.aggregation.categories == kept
    assert job.aggregation.categories is not None
    assert made.privacy == job.privacy


@pytest.mark.parametrize("known", [None, "cd" * 16])
def test_each_kind_is_masked_with_a_secret_of_its_own(monkeypatch, known) -> None:
    heard, job = [], SimpleNamespace(contained=lambda: "job")

    def noting(name, made):
        monkeypatch.setattr(
            steps, name, lambda *of, **more: heard.append((of, more)) or made(*of)
        )

    monkeypatch.setattr(steps, "make_secret", lambda: "ab" * 16)
    monkeypatch.setattr(steps, "read_table", lambda *of: (("table", *of), None))
    kinds = {("job", ("table", "data", "job")): ("units", "records")}
    monkeypatch.setattr(steps, "split_job", lambda *of: kinds[of])
    monkeypatch.setattr(
        steps, "derive_seed", lambda own, what: int(what[5:]) + int(own, 16)
    )
    noting("partition_table", lambda data, part, told: f"groups of {part}")
    noting("aggregate_table", lambda given, told: f"means in {given}")
    noting("copy_to_records", lambda given, masked: masked)
    monkeypatch.setattr(steps, "_join_parts", lambda *of: of)
    table, of, own, parts = mask_units_and_records("data", job, "told", known)
    assert (table, of, own) == (("table", "data", "job"), "job", known or "ab" * 16)
    assert parts == ["means in groups of units", "means in groups of records"]
    secrets = [own, f"{own[:-1]}{int(own[-1], 16) + 1:x}"]
    said = [
        (("data", kind, "told"), {"known": secret})
        for kind, secret in zip(("units", "records"), secrets, strict=True)
    ]
    assert heard[::3] == said
    assert heard[1:3] == [
        (("groups of units", "told"), {}),
        (("groups of units", "means in groups of units"), {}),
    ]


def test_a_secret_of_a_kind_has_all_of_its_digits(monkeypatch) -> None:
    heard = []
    monkeypatch.setattr(steps, "read_table", lambda *of: (None, None))
    monkeypatch.setattr(steps, "split_job", lambda *of: ("units",))
    monkeypatch.setattr(steps, "derive_seed", lambda own, what: heard.append(own) or 10)
    monkeypatch.setattr(
        steps, "partition_table", lambda *of, known: heard.append(known)
    )
    monkeypatch.setattr(steps, "aggregate_table", lambda *of: None)
    monkeypatch.setattr(steps, "copy_to_records", lambda *of: of)
    monkeypatch.setattr(steps, "_join_parts", lambda *of: of)
    mask_units_and_records(None, both(), None, "ef" * 16)
    assert heard == ["ef" * 16, "a".rjust(32, "0")]


def part(names, numbers, blocks, asked, *, source, reasons, values, proofs, kept=None):
    """Return one kind: a table of these names, its groups, and what is published."""
    job = SimpleNamespace(roles=SimpleNamespace(quasi_identifier=names))
    table = SimpleNamespace(numeric=numbers)
    asked = {name: np.array(each) for name, each in asked.items()}
    kept = None if kept is None else np.array(kept)
    given = PartitionedTable(
        job, table, source, None, None, blocks, asked, reasons=reasons, kept=kept
    )
    return given, AggregatedTable(np.array(values), proofs, (f"of {source}",))


@pytest.mark.parametrize("whole", [False, True])
def test_kinds_are_put_together_in_the_order_of_the_job(whole) -> None:
    one = part(
        ["b", "d"],
        ("b", "d"),
        (Block((1,), "first"), Block((0,), "second")),
        {"delta": [[1.0, 2], [3, 4]]},
        source="units",
        reasons=("x", "y"),
        values=[[10.0, 11], [12, 13]],
        proofs={"b": 1, "d": 2},
    )
    other = part(
        ["x", "c"],
        ("x",),
        (Block((0, 1), "third"),),
        {"delta": [[5.0], [6]], "importance": [[7.0], [8]]},
        source="records",
        reasons=("y", "z"),
        values=[[14.0, 15], [16, 17]],
        proofs={"c": 3, "x, c": 4},
        kept=[[True, whole], [True, True]],
    )
    matrix = np.zeros((2, 4))
    table = SimpleNamespace(numeric=("x", "b", "d"), matrix=lambda: matrix)
    job = SimpleNamespace(roles=SimpleNamespace(quasi_identifier=["x", "b", "c", "d"]))
    made, masked = _join_parts(table, job, "make_secret", [one, other])
    assert (made.job, made.table, made.secret) == (job, table, "make_secret")
    assert made.source == "records"
    assert made.whole is matrix
    assert made.records is matrix
    blocks = [(block.columns, block.partition) for block in made.blocks]
    assert blocks == [((3,), "first"), ((1,), "second"), ((0, 2), "third")]
    assert {name: asked.tolist() for name, asked in made.asked.items()} == {
        "delta": [[5, 1, 2], [6, 3, 4]],
        "importance": [[7, 0, 0], [8, 0, 0]],
    }
    assert made.reasons == ("x", "y", "z")
    if whole:
        assert made.kept is None
    else:
        assert made.kept.tolist() == [[True, True, False, True], [True] * 4]
        assert made.kept.dtype == bool
    assert masked.values.tolist() == [[14, 10, 15, 11], [16, 12, 17, 13]]
    assert list(masked.certificates.items()) == [
        ("x, c", 4),
        ("b", 1),
        ("c", 3),
        ("d", 2),
    ]
    assert masked.notes == ("of units", "of records")


@pytest.mark.parametrize("key", ["keep", "delta", "importance", "attributes"])
@pytest.mark.parametrize("apart", [False, True])
def test_what_names_attributes_is_refused_of_several_kinds(key, apart) -> None:
    job = SimpleNamespace(
        units=SimpleNamespace(apart=lambda roles: apart and roles == "roles"),
        roles="roles",
        aggregation=SimpleNamespace(**({} if key == "attributes" else {key: {}})),
        partition=SimpleNamespace(
            attributes=[["age"]] if key == "attributes" else "one by one"
        ),
    )
    if not apart:
        return require_plain(job)
    with refused(
        f"{key} of the job is said of single attributes, and some of these are of "
        "units, others of records: each kind is masked by itself.",
        "say the same of all attributes; or mask those of one kind in a job of their "
        "own, and drop the others there.",
        JobError,
    ):
        require_plain(job)
