"""What each step of a release is given by those before it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from tables import job, people

from aggopt.input.table import Table
from aggopt.input.units import Members
from aggopt.pipeline import mask as steps
from aggopt.pipeline.mask import _quasi_identifiers, mask, release_of


class Noted:
    """Stand for a step: note what it is given, and return what it is to make."""

    def __init__(self, heard, name, made):
        self.heard, self.name, self.made = heard, name, made

    def __call__(self, *of, **settings):
        self.heard.append((self.name, *of, *settings.items()))
        return self.made


@pytest.fixture
def heard(monkeypatch):
    """Put steps that note what they are given in the place of all; return the notes."""
    said = []
    audit = SimpleNamespace(
        notes=("of disclosures", "of the audit"),
        disclosures=("of disclosures",),
        require=Noted(said, "require", 0),
    )
    released = SimpleNamespace(matrix=lambda: "published")
    masked = SimpleNamespace(
        values="values", certificates="proofs", notes=("of categories",)
    )
    modules = {
        "rounding": {"released": released, "drifts": "drift", "notes": ["of rounding"]},
        "margins": {"notes": ["of margins"], "nearer": ["of distances"]},
        "by_stratum": {"notes": ["of each stratum"]},
        "sampling_weights": {"notes": ["of weights"]},
    }
    for module, made in modules.items():
        own = {name: Noted(said, f"{module}.{name}", x) for name, x in made.items()}
        monkeypatch.setattr(steps, module, SimpleNamespace(**own))
    made = {
        "aggregated": "aggregated",
        "require_solved": None,
        "compared": SimpleNamespace(after="after"),
        "audit_of": audit,
        "measured_if_any": "measures",
        "complete": "rows",
        "as_counted": "counted",
        "risks_of": "risks",
        "_notes": ["of certificates"],
        "repeated_identifiers": ["of identifiers"],
        "_beyond": ["of bounds"],
        "_index": [],
        "_spanning": ["of lines"],
        "_incomplete": ["of holes"],
        "_quasi_identifiers": "originals",
        "Release": "release",
    }
    for name, what in made.items():
        monkeypatch.setattr(steps, name, Noted(said, name, what))
    monkeypatch.setattr(
        steps,
        "copied_back",
        lambda given, what: said.append((given, what)) or (given, masked),
    )
    return said, released, audit


def grouped(**others):
    job = SimpleNamespace(output="output", measures=SimpleNamespace(own="own"))
    plain = {
        "job": job,
        "table": "table",
        "whole": "whole",
        "asked": "asked",
        "blocks": "blocks",
        "source": "source",
        "secret": "secret",
        "reasons": ("of reasons",),
        "strata": None,
        "units": None,
        "weights": None,
        "weights_of_values": None,
        "of_numbers": lambda values: f"numbers of {values}",
    }
    return SimpleNamespace(**{**plain, **others})


SAID = (
    *("of disclosures", "of identifiers", "of bounds", "of the audit"),
    *("of categories", "of margins", "of distances", "of each stratum", "of weights"),
    *("of certificates", "of lines", "of holes", "of rounding", "of reasons"),
)


def test_each_step_of_a_release_is_given_what_those_before_made(heard) -> None:
    said, released, audit = heard
    given = grouped()
    job, told = given.job, Noted(said, "told", None)
    assert release_of(given, told) == "release"
    both = steps.compared.made
    for step in (
        ("aggregated", given, told),
        (given, "aggregated"),
        ("require_solved", "proofs"),
        ("told", "audit", 0.0),
        ("rounding.released", given, "values"),
        ("compared", "whole", "published", "output", "table"),
        ("audit_of", given, released, both),
        ("require",),
        ("told", "measure", 0.0),
        ("rounding.drifts", given, "numbers of values", "numbers of after"),
        ("measured_if_any", "table", released, "asked", "own"),
        ("margins.notes", given),
        ("margins.nearer", given, "numbers of after"),
        ("by_stratum.notes", job, None),
        ("sampling_weights.notes", job, None),
        ("_notes", given, "proofs"),
        ("_beyond", given, "numbers of after"),
        ("_spanning", released, job),
        ("complete", "whole", "after"),
        ("_incomplete", "rows", "measures"),
        ("rounding.notes", given, "values", "after", "drift"),
        ("as_counted", "measures", audit),
        ("risks_of", "table", released, job),
    ):
        assert step in said
    assert (
        dict(said[-1][1:]).items()
        >= {
            "masked": released,
            "blocks": "blocks",
            "certificates": "proofs",
            "audit": audit,
            "measures": "counted",
            "notes": SAID,
            "job": job,
            "source": "source",
            "secret": "secret",
            "drift": "drift",
            "risks": "risks",
            "strata": None,
            "units": None,
            "weights": None,
        }.items()
    )


def test_a_release_knows_strata_and_units_and_may_have_no_measures(heard) -> None:
    said, *_ = heard
    steps.measured_if_any.made = None
    strata = SimpleNamespace(notes=("of small strata",))
    weighed = {"weights": "known", "weights_of_values": "weights"}
    given = grouped(strata=strata, units=Members("units"), **weighed)
    release_of(given, lambda *_: None)
    made = dict(said[-1][1:])
    assert made["weights"] == "weights"
    assert ("sampling_weights.notes", given.job, "known") in said
    assert (made["measures"], made["strata"], made["units"]) == (None, strata, "units")
    assert made["notes"] == (*SAID[:7], "of small strata", *SAID[7:])
    assert ("by_stratum.notes", said[0][1].job, strata) in said
    assert ("_incomplete", "rows", None) in said


def with_units(apart: bool) -> SimpleNamespace:
    """What a job says of units: whether others than theirs are masked, too."""
    units = SimpleNamespace(apart=lambda roles: apart and roles == "roles")
    return SimpleNamespace(units=units, roles="roles")


def test_units_and_records_are_masked_each_and_then_released(monkeypatch) -> None:
    said, read = [], with_units(True)
    for name, made in (
        ("listener", "told"),
        ("job_of", read),
        ("of_both", ("grouped", "masked")),
        ("_released", "release"),
    ):
        monkeypatch.setattr(steps, name, Noted(said, name, made))
    assert mask("data", "job", secret="secret") == "release"
    assert said[2:] == [
        ("of_both", "data", read, "told", "secret"),
        ("_released", "grouped", "masked", "told"),
    ]


def test_a_table_is_grouped_and_then_released(monkeypatch) -> None:
    said, read = [], with_units(False)
    for name, made in (
        ("listener", "told"),
        ("job_of", read),
        ("group", "grouped"),
        ("release_of", "release"),
    ):
        monkeypatch.setattr(steps, name, Noted(said, name, made))
    made = mask("data", "job", progress="progress", secret="secret", trust=["code"])
    assert made == "release"
    assert said == [
        ("listener", "progress"),
        ("job_of", "job", ["code"]),
        ("group", "data", read, "told", ("known", "secret")),
        ("release_of", "grouped", "told"),
    ]
    said.clear()
    mask("data", "job")
    assert said[:3] == [
        ("listener", None),
        ("job_of", "job", ()),
        ("group", "data", read, "told", ("known", None)),
    ]


def test_of_the_original_the_quasi_identifiers_alone_are_kept():
    table = Table.of(people(), job().roles)
    found = _quasi_identifiers(replace(table, codebooks={"age": "what codes mean"}))
    assert found.frame.columns == ["age", "income"]
    assert found.codebooks == {}
