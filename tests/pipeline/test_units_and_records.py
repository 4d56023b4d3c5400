"""Attributes of units and of records in one job."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from households import OF_RECORDS, OF_UNITS, members, of
from refusals import refused as refusal

import aggopt
from aggopt.command.readiness import obstacles, refused
from aggopt.errors import AggoptError, JobError
from aggopt.input.files import as_written
from aggopt.partition._shared.block import Block
from aggopt.pipeline import units_and_records as steps
from aggopt.pipeline.aggregate_step import Masked
from aggopt.pipeline.grouped import Grouped
from aggopt.pipeline.reassess import review
from aggopt.pipeline.units_and_records import _joined, _of, of_both, require_plain

QUASI = ["age", "income", "height", "rooms"]  # of both kinds, mixed
BOTH = {"units": {"attributes": OF_UNITS}, "privacy": {"k": 3, "scope": "blocks"}}
HOUSEHOLD = "household"


def both(quasi=QUASI, **sections):
    return of(quasi, **{**BOTH, **sections})


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(members(), both(), secret="0" * 32)


def test_each_kind_is_masked_as_in_a_job_of_its_own(release):
    frame = members()
    for names, place in ((OF_UNITS, 0), (OF_RECORDS, 1)):
        alone = aggopt.mask(frame, of(names))
        pd.testing.assert_frame_equal(release.table[names], alone.table[names])
        assert (release.blocks[place].labels == alone.blocks[0].labels).all()
        proof = alone.blocks[0].certificate
        assert release.blocks[place].certificate.bound == proof.bound
        assert release.blocks[place].columns == tuple(map(QUASI.index, names))
        for name in names:
            own = alone.certificates[name].objective
            assert release.certificates[name].objective == own
    assert list(release.certificates) == QUASI


def test_k_counts_units_in_each_kind(release, tmp_path):
    frame = members()
    units = release.table.assign(household=frame[HOUSEHOLD])
    counts = [units.groupby(names)[HOUSEHOLD].nunique() for names in OF_BOTH]
    assert release.audit.smallest == min(count.min() for count in counts) >= 3
    assert [count.what for count in release.audit.blocks] == ["unit", "unit"]
    assert HOUSEHOLD not in release.table
    files = release.write(tmp_path / "masked.csv")
    key = pd.read_csv(files.private)
    assert {"group_1", "group_2"} <= set(key.columns)
    frame.to_csv(tmp_path / "in.csv", index=False)
    again = review(tmp_path / "in.csv", files.table, both())
    assert again.audit.holds
    assert again.audit.smallest == release.audit.smallest
    assert [each.attributes for each in again.audit.blocks] == [
        ("income", "rooms"),
        ("age", "height"),
    ]


OF_BOTH = (OF_UNITS, OF_RECORDS)


def test_margins_of_the_kinds_are_drawn_apart(release):
    how = {"method": "p3m", "delta": 0.3, "alpha": 0.9}
    frame = members()
    frame["age"], frame["height"] = frame["income"], frame["rooms"]
    one, two = (
        aggopt.mask(frame, both(aggregation=how), secret=secret * 32)
        for secret in ("a", "b")
    )
    assert not np.allclose(one.table["age"], two.table["age"], rtol=1e-9)
    again = aggopt.mask(frame, both(aggregation=how), secret="a" * 32)
    pd.testing.assert_frame_equal(again.table, one.table)
    assert "secret margin" in " ".join(one.notes)
    assert one.secret == "a" * 32


def test_categories_of_one_kind_alone_are_masked():
    for quasi, attributes in (
        (["region", "age"], ["region"]),
        (["income", "ill"], ["income"]),
    ):
        roles = {
            "quasi-identifier": quasi,
            "unit": [HOUSEHOLD],
            "other": [n for n in members(4) if n not in (*quasi, HOUSEHOLD)],
        }
        made = aggopt.mask(
            members(),
            of(quasi, roles=roles, **{**BOTH, "units": {"attributes": attributes}}),
        )
        assert made.audit.holds
        assert list(made.certificates) == quasi


def test_holes_of_one_kind_leave_the_other_as_it_is():
    frame = members()
    frame.loc[frame.index[:8], "age"] = np.nan
    made = aggopt.mask(frame, both(missing={"policy": "patterns"}))
    assert made.table[OF_UNITS].notna().all().all()
    assert made.table["age"].isna().sum() >= 8
    assert made.audit.holds


def test_a_release_of_both_is_repeated(release, tmp_path):
    frame = members()
    files = release.write(tmp_path / "masked.csv")
    again = aggopt.repeat(files.manifest, frame, tmp_path / "again.csv")
    assert again.table.read_bytes() == files.table.read_bytes()


def varying():
    frame = members()
    frame.loc[0, "income"] += 1
    frame.loc[frame[HOUSEHOLD] == frame.loc[0, HOUSEHOLD], "rooms"] = 3
    return frame


REFUSED = {
    "k of the combination": (
        lambda: (members(), both(privacy={"k": 3})),
        "[units] attributes names 2 of 4 quasi-identifiers: those of units and those "
        "of records are masked each by themselves. k = 3 then holds of each kind, and "
        "not for the combination of all of them, which the job promises.",
        'promise less, with scope = "blocks" under [privacy]; or name every '
        "quasi-identifier, if all are the same within a unit; or leave the section "
        "out: groups then hold records of k units.",
    ),
    "what is asked of single attributes": (
        lambda: (
            members(),
            both(
                aggregation={
                    "method": "p3m",
                    "delta": {"attributes": dict.fromkeys(QUASI, 0.1)},
                }
            ),
        ),
        "delta of the job is said of single attributes, and some of these are of "
        "units, others of records: each kind is masked by itself.",
        "say the same of all attributes; or mask those of one kind in a job of their "
        "own, and drop the others there.",
    ),
    "blocks of attributes, and a distance relative to each value": (
        lambda: (
            members(),
            both(
                partition={"method": "mdav", "attributes": [OF_UNITS, OF_RECORDS]},
                aggregation={"method": "p3m", "delta": {"relative": 0.1}},
            ),
        ),
        "delta and attributes of the job are said of single attributes, and some of "
        "these are of units, others of records: each kind is masked by itself.",
        "say the same of all attributes; or mask those of one kind in a job of their "
        "own, and drop the others there.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_of_each_kind_is_refused(case):
    make, problem, fix = REFUSED[case]
    with pytest.raises(AggoptError) as error:
        aggopt.mask(*make())
    assert (error.value.problem, error.value.fix) == (problem, fix)


def test_what_varies_within_a_unit_is_refused_and_checked(tmp_path):
    with pytest.raises(AggoptError, match="'income' in 1") as error:
        aggopt.mask(varying(), both())
    assert "'age'" not in error.value.problem
    path = tmp_path / "in.csv"
    members().to_csv(path, index=False)
    assert refused(path, both()) is None
    varying().to_csv(path, index=False)
    assert refused(path, both()).problem == error.value.problem
    found = obstacles(path, as_written(path, both().input), both())
    assert error.value.problem in [each.problem for each in found]


def test_other_commands_refuse_such_a_job():
    with pytest.raises(AggoptError) as error:
        aggopt.declare(members(), both(aggregation={"method": "p3m"}), "age")
    assert error.value.problem == (
        "Some quasi-identifiers are of units, and others of records: such a job is for "
        "aggopt mask, aggopt check, and what looks at releases."
    )
    assert error.value.fix == (
        "name those of one kind alone, and drop the others, as identifier."
    )


# --- each step by itself

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

    monkeypatch.setattr(steps, "secret", lambda: "ab" * 16)
    monkeypatch.setattr(steps, "read_table", lambda *of: (("table", *of), None))
    kinds = {("job", ("table", "data", "job")): ("units", "records")}
    monkeypatch.setattr(steps, "parts_of", lambda *of: kinds[of])
    monkeypatch.setattr(
        steps, "seed_of", lambda own, what: int(what[5:]) + int(own, 16)
    )
    noting("group", lambda data, part, told: f"groups of {part}")
    noting("aggregated", lambda given, told: f"means in {given}")
    noting("copied_back", lambda given, masked: masked)
    monkeypatch.setattr(steps, "_joined", lambda *of: of)
    table, of, own, parts = of_both("data", job, "told", known)
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
    monkeypatch.setattr(steps, "parts_of", lambda *of: ("units",))
    monkeypatch.setattr(steps, "seed_of", lambda own, what: heard.append(own) or 10)
    monkeypatch.setattr(steps, "group", lambda *of, known: heard.append(known))
    monkeypatch.setattr(steps, "aggregated", lambda *of: None)
    monkeypatch.setattr(steps, "copied_back", lambda *of: of)
    monkeypatch.setattr(steps, "_joined", lambda *of: of)
    of_both(None, both(), None, "ef" * 16)
    assert heard == ["ef" * 16, "a".rjust(32, "0")]


def part(names, numbers, blocks, asked, *, source, reasons, values, proofs, kept=None):
    """Return one kind: a table of these names, its groups, and what is published."""
    job = SimpleNamespace(roles=SimpleNamespace(quasi_identifier=names))
    table = SimpleNamespace(numeric=numbers)
    asked = {name: np.array(each) for name, each in asked.items()}
    kept = None if kept is None else np.array(kept)
    given = Grouped(
        job, table, source, None, None, blocks, asked, reasons=reasons, kept=kept
    )
    return given, Masked(np.array(values), proofs, (f"of {source}",))


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
        ["a", "c"],
        ("a",),
        (Block((0, 1), "third"),),
        {"delta": [[5.0], [6]], "importance": [[7.0], [8]]},
        source="records",
        reasons=("y", "z"),
        values=[[14.0, 15], [16, 17]],
        proofs={"c": 3, "a, c": 4},
        kept=[[True, whole], [True, True]],
    )
    matrix = np.zeros((2, 4))
    table = SimpleNamespace(numeric=("a", "b", "d"), matrix=lambda: matrix)
    job = SimpleNamespace(roles=SimpleNamespace(quasi_identifier=["a", "b", "c", "d"]))
    made, masked = _joined(table, job, "secret", [one, other])
    assert (made.job, made.table, made.secret) == (job, table, "secret")
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
        ("a, c", 4),
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
    with refusal(
        f"{key} of the job is said of single attributes, and some of these are of "
        "units, others of records: each kind is masked by itself.",
        "say the same of all attributes; or mask those of one kind in a job of their "
        "own, and drop the others there.",
        JobError,
    ):
        require_plain(job)
