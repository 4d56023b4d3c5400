"""What each step is given on the way from a table to its groups."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from aggopt.pipeline import completed_job, prepared
from aggopt.pipeline import partition_step as steps
from aggopt.pipeline.grouped import Blocks
from aggopt.pipeline.partition_step import group

JOB = SimpleNamespace(
    missing=SimpleNamespace(policy="patterns"),
    partition=SimpleNamespace(weights="by attribute", settings={"tries": 3}),
    privacy=SimpleNamespace(k=2, repair="merge"),
    input=SimpleNamespace(decimal=","),
)
ENCODED = SimpleNamespace(notes=("of codes",))
COMPLETE, HOLED = np.zeros((3, 1)), np.full((3, 1), np.nan)
SAMPLING = SimpleNamespace(known="known")
BLOCK = SimpleNamespace(partition=SimpleNamespace(interrupted=False))


HELD = ("confidential", "of units", "of weights")


class Steps:
    """Steps in the places of others, which note what they are given."""

    def __init__(self, monkeypatch):
        self.patch, self.heard = monkeypatch, []

    def noting(self, name, made):
        def step(*of, **how):
            self.heard.append((name, *of, *how.items()))
            return made(*of) if callable(made) else made

        return step

    def put(self, module, **made):
        for name, each in made.items():
            self.patch.setattr(module, name, self.noting(name, each))


def before_groups(put, table, sampling, job):
    """Put steps in the place of those that read, prepare and complete."""
    made = {"by_unit": ("of units", "units"), "stratified": (table, "strata")}
    made |= {"group_size": None, "weights_in": sampling, "with_means": "filled"}
    put(prepared, **made)
    made = {"widest": 7, "settled": (job, ("chosen",)), "with_categories": job}
    made |= {"with_search": (job, ("added",)), "with_repair": (job, ("repaired",))}
    put(completed_job, **made, with_dominance=(job, ("merged",)))
    made = {"require_memory": None, "_require_one_kind": None, "secret": "new"}
    made |= {"require_secret": lambda known: f"{known}, looked at"}
    put(steps, **made, read_table=("read", "source"), blocks_of="columns")


def of_groups(put, job):
    """Put steps in the place of those that ask for groups, make and check them."""
    put(steps, wishes_of={"delta": "asked"}, read_confidential=HELD[:1])
    put(steps, of_units=HELD[1:2], of_weights=HELD[2:], require_kept=None)
    put(steps, with_earlier_groups=job, parted=("parted",), partitioner="divide")
    put(steps, by_weight={"weights": "known"}, require_variance=None)
    put(steps, _by_policy=Blocks((BLOCK,), "kept"), proven="proof", require_solved=None)


@pytest.fixture
def grouped(monkeypatch):
    """Group a stand-in of a table by steps that note what they are given."""
    said = Steps(monkeypatch)

    def run(whole=COMPLETE, encoded=ENCODED, sampling=SAMPLING, job=JOB, **how):
        table = SimpleNamespace(
            matrix=lambda: whole, encoded=said.noting("encoded", encoded)
        )
        before_groups(said.put, table, sampling, job)
        of_groups(said.put, job)
        said.put(steps, job_of=SimpleNamespace(contained=lambda: job))
        said.put(steps, progress_or_noop=lambda told: said.noting("told", None))
        said.put(steps, before_work=[lambda: said.heard.append("checked")])
        return group("data", "job", "hearer", **how), said.heard, table

    return run


def test_each_step_before_groups_is_given_what_those_before_made(grouped) -> None:
    _, heard, table = grouped()
    for step in (
        ("job_of", "job"),
        ("progress_or_noop", "hearer"),
        ("require_memory", JOB),
        ("_require_one_kind", JOB),
        ("told", "read", 0.0),
        ("read_table", "data", JOB),
        ("by_unit", "read", JOB),
        ("stratified", "of units", JOB),
        ("group_size", 2, 3),
        ("weights_in", table),
        ("encoded", "by attribute", "known"),
        ("blocks_of", JOB, ENCODED),
        ("widest", ENCODED, "columns"),
        ("with_categories", JOB, table),
        ("with_search", JOB),
        ("with_repair", JOB, "units"),
        ("with_dominance", JOB, SAMPLING, ("apart", False)),
        ("before_work", table, COMPLETE, JOB, "columns", "strata", "units"),
        "checked",
    ):
        assert step in heard
    (asked,) = (of for of in heard if of[0] == "settled")
    assert asked[1:4] == (JOB, 3, 7)
    assert asked[4].args == (ENCODED, "columns")
    assert asked[5:] == (("weighted", True),)


def test_each_step_of_groups_is_given_what_those_before_made(grouped) -> None:
    _, heard, table = grouped()
    for step in (
        ("wishes_of", table, COMPLETE, JOB),
        ("read_confidential", table, JOB, ","),
        ("of_units", JOB, "units"),
        ("of_weights", JOB, SAMPLING),
        ("require_kept", HELD, "strata", True),
        ("with_earlier_groups", JOB, table, "strata", "units"),
        ("parted", JOB, "strata"),
        ("by_weight", JOB, "known", ("apart", False)),
        ("partitioner", JOB, HELD),
        ("require_variance", JOB, HELD, (BLOCK,)),
        ("told", "bound", 0.0),
        ("proven", (BLOCK,), JOB),
        ("require_solved", "proof"),
    ):
        assert step in heard


def test_what_the_steps_made_is_found(grouped) -> None:
    found, _, table = grouped()
    assert (found.job, found.table, found.source) == (JOB, table, "source")
    assert (found.whole is COMPLETE, found.records) == (True, ENCODED)
    assert (found.blocks, found.kept, found.held) == ((BLOCK,), "kept", HELD)
    assert found.asked == {"delta": "asked"}
    said = ("chosen", "added", "repaired", "merged", "of codes", "parted")
    assert found.reasons == said
    assert (found.strata, found.units, found.sampling) == ("strata", "units", SAMPLING)


def made_of(heard):
    ((_, given, *of),) = (of for of in heard if of[0] == "_by_policy")
    return (given.records, given.holes, given.strata, given.weights), *of


def test_groups_are_made_of_records_by_the_function_of_the_job(grouped) -> None:
    _, heard, _ = grouped()
    given, columns, (divide, settings, told), job, held, mended = made_of(heard)
    assert given == (ENCODED, None, "strata", "known")
    assert (columns, divide, job, held) == ("columns", "divide", JOB, HELD)
    assert settings == {"tries": 3, "weights": "known"}
    for hears, step in ((told, "group"), (mended, "repair")):
        assert isinstance(hears, partial)
        hears(0.25)
        assert heard[-1] == ("told", step, 0.25)


@pytest.mark.parametrize(("asked", "repair"), [("merge", False), (None, True)])
def test_without_a_repair_none_hears_of_it(grouped, asked, repair) -> None:
    plain = SimpleNamespace(**{**vars(JOB), "privacy": SimpleNamespace(k=2)})
    plain.privacy.repair = asked
    _, heard, _ = grouped(job=plain, repair=repair)
    assert made_of(heard)[-1] is None
    assert ("require_kept", HELD, "strata", repair) in heard


def test_holes_are_filled_and_the_records_with_them_stay_known(grouped) -> None:
    found, heard, _ = grouped(whole=HOLED, sampling=None)
    assert made_of(heard)[0] == ("filled", ENCODED, "strata", None)
    assert ("with_means", ENCODED) in heard
    assert ("encoded", "by attribute", None) in heard
    assert ("blocks_of", JOB, "filled") in heard
    assert (found.records, found.sampling) == ("filled", None)


@pytest.mark.parametrize(
    ("policy", "whole", "apart"),
    [("patterns", HOLED, True), ("fill", HOLED, False), ("patterns", COMPLETE, False)],
    ids=["patterns", "filled", "complete"],
)
def test_groups_are_apart_within_patterns_of_holes(
    grouped, policy, whole, apart
) -> None:
    job = SimpleNamespace(**{**vars(JOB), "missing": SimpleNamespace(policy=policy)})
    _, heard, _ = grouped(whole=whole, job=job)
    for step in (
        ("with_dominance", job, SAMPLING, ("apart", apart)),
        ("by_weight", job, "known", ("apart", apart)),
    ):
        assert step in heard


def test_nothing_is_made_of_a_search_that_was_interrupted(grouped, monkeypatch) -> None:
    monkeypatch.setattr(BLOCK.partition, "interrupted", True)
    with pytest.raises(KeyboardInterrupt):
        grouped()


def test_a_table_that_is_not_encoded_is_its_numbers(grouped) -> None:
    found, heard, _ = grouped(encoded=None, sampling=SimpleNamespace(known=None))
    assert made_of(heard)[0] == (COMPLETE, None, "strata", None)
    assert "of codes" not in found.reasons
    (asked,) = (of for of in heard if of[0] == "settled")
    assert asked[5:] == (("weighted", False),)


def test_groups_that_are_made_are_not_made_again(grouped) -> None:
    found, heard, _ = grouped(made=Blocks("others", "theirs"))
    assert (found.blocks, found.kept) == ("others", "theirs")
    named = {of[0] for of in heard}
    assert not named & {"_by_policy", "partitioner", "with_earlier_groups", "parted"}
    assert ("require_variance", JOB, HELD, "others") in heard
    assert found.reasons[-1] == "of codes"


@pytest.mark.parametrize(("known", "own"), [(None, "new"), ("ab", "ab, looked at")])
def test_the_secret_is_the_one_that_is_known_or_new(grouped, known, own) -> None:
    assert grouped(known=known)[0].secret == own
