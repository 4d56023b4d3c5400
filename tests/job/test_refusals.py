"""Whatever is wrong with a job is said in this package's words."""

import datetime
import re
from typing import get_args, get_origin

import pytest
from pydantic import BaseModel
from tables import ROLES

from aggopt import Job
from aggopt.errors import JobError, UnknownNameError
from aggopt.job._refusal import _KINDS

RAW = re.compile(
    r"Value error|Input should|type=|pydantic|Extra inputs|validation|Unable to|"
    r"function-|constrained|literal\[|nullable|\[key\]|something else|\d{61}|"
    r"\b(is|names) a (dict|object)|of type (int|float|dict|list|str)\b|"
    r"^\s*None|\{(ge|gt|le|lt|expected)\}|cannot be used$"
)
ODD = [
    *(None, True, -1, 0, 1e400, float("nan"), 10**400, 2.5, "x", "", "\ud800"),
    *([], ["x"], [1], [[]], {}, {"x": 1}, {"method": 3}, {3: 4}, b"x", object()),
    datetime.date(2020, 1, 1),
]
LT = {"k": 3, "l": 2, "t": 0.2}
QUASI = "quasi-identifier"
PLAIN = {"roles": ROLES, "privacy": {"k": 3}}


def sections_of(kind):
    """Yield the sections that a part of a job may be."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    elif get_origin(kind) is not dict:
        for inner in get_args(kind):
            yield from sections_of(inner)


def places():
    """Yield each key of each section, and a job with a value there."""
    for name, field in Job.model_fields.items():
        yield f"{name}", lambda value, name=name: {**PLAIN, name: value}
        for kind in sections_of(field.annotation):
            base = dict(PLAIN.get(name, {}))
            if "method" in kind.model_fields:
                (method,) = get_args(kind.model_fields["method"].annotation)
                base["method"] = method
            for key, inner in kind.model_fields.items():
                where = f"{name}.{base.get('method', '')}.{key}"
                key = inner.alias or key
                yield (
                    where,
                    lambda value, name=name, key=key, base=base: {
                        **PLAIN,
                        name: {**base, key: value},
                    },
                )
    for key in ("distance", "order", "tree", "levels", "missing", "none"):
        yield (
            f"privacy.confidential.x.{key}",
            lambda value, key=key: {
                **PLAIN,
                "privacy": {
                    "k": 3,
                    "l": 2,
                    "t": 0.2,
                    "confidential": {"x": {key: value}},
                },
            },
        )


PLACES = dict(places())


@pytest.mark.parametrize("where", PLACES)
def test_no_refusal_is_in_the_words_of_a_library(where):
    said = [refusal_of(PLACES[where](value)) for value in ODD]
    assert any(said)
    for text in filter(None, said):
        assert not RAW.search(text), text
        assert "\nTo fix: " in text


def refusal_of(sections):
    try:
        Job(**sections)
    except JobError as refused:
        return str(refused)
    return None


def test_the_words_for_each_kind_of_mistake_are_there():
    assert all(words.startswith("write") for words in _KINDS.values())


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        (
            {"input": {"separator": ",", "decimal": ","}},
            "input: separator and dec",
        ),
        ({"output": {"shuffle": False, "seed": 1}}, r"output: seed is given, but"),
        (
            {"output": {"shuffle": "yes"}},
            "shuffle is 'yes': write true or false",
        ),
        (
            {"partition": {"method": "mdav", "ending": 3}},
            r"\[partition\] ending is 3: write '3k' or 'nearest'",
        ),
        ({"partition": 3}, "partition is 3: write a table"),
        ({"aggregation": {"method": "p3m", "alpha": 2}}, "alpha is 2: .* at most 1"),
        ({"output": 3}, "output is 3: write a table of keys"),
        (
            {"output": {"digits": 0}},
            r"digits = 0\.\nTo fix: .* from 2 to 15, or digits",
        ),
        ({"output": {"digits": 2.0}}, r"output\.digits is 2\.0: .*\n.* from 2 to 15"),
        ({"output": {"decimals": "y"}}, r"decimals is 'y': .*\n.* from -15 to 15\."),
        (
            {"output": {"decimals": 16}},
            r"output\.decimals is 16: .*\n.* from -15 to 15",
        ),
        ({"output": {3: 4}}, "output.3 is 3: write names of keys as text"),
        (
            {"aggregation": {"method": "p3m", "options": {3: 4}}},
            r"\[aggregation\] options\.3 is 3: write text",
        ),
        (
            {"output": {"digits": "x", "seed": -1}, "input": {"decimal": "x"}},
            r"input\.decimal is 'x': .*; output\.seed is -1: .*; output\.digits is 'x'",
        ),
        ({"privacy": {"k": "9" * 99}}, r"k is '9{59}\.\.\.: "),
        ({"privacy": {"k": -(10**5000)}}, "k = a whole number of more than 20 digits"),
        (
            {"privacy": {"k": 3, "confidential": {"attributes": 3}}},
            r"privacy\.confidential\.attributes is 3: write a table of keys",
        ),
        (
            {"privacy": {"k": 3, "confidential": {"delta": 3}}},
            r"privacy\.confidential\.delta is 3: write a table of keys",
        ),
        (
            {"privacy": {"k": 3, "t": 0.2, "confidential": {"int": {"levels": "x"}}}},
            r"\[privacy\.confidential\.int\] levels is 'x'",
        ),
        ({"roles": {"x": 1}}, r"quasi-identifier is missing; roles\.x is not known"),
    ],
)
def test_refusals_say_where_and_what_belongs_there(sections, said):
    with pytest.raises(JobError, match=said):
        Job(**{**PLAIN, **sections})


@pytest.mark.parametrize(
    ("sections", "meant"),
    [
        ({"roles": ROLES, "privcy": {"k": 3}}, "privacy"),
        ({"roles": {"quasi-identifiers": ["a"]}, "privacy": {"k": 3}}, QUASI),
        ({"roles": {"Quasi-Identifier": ["a"]}, "privacy": {"k": 3}}, QUASI),
        ({"role": ROLES, "privacy": {"k": 3}}, "roles"),
        ({"roles": ROLES, "privacy": {"K": 3}}, "k"),
    ],
)
def test_a_key_that_is_missing_because_it_is_misspelled_is_suggested(sections, meant):
    with pytest.raises(UnknownNameError) as no:
        Job(**sections)
    assert no.value.fix.startswith(f"did you mean {meant!r}? ")


@pytest.mark.parametrize("key", ["seed", "solver", "effort", "block_size"])
def test_a_setting_of_a_method_that_is_not_named_asks_for_the_method(key):
    with pytest.raises(JobError, match=f"sets {key} and names no method") as no:
        Job(**PLAIN, partition={key: 1})
    assert "add method = one of" in no.value.fix
    with pytest.raises(JobError, match="is called 'sed'"):
        Job(**PLAIN, partition={"sed": 1})


@pytest.mark.parametrize(
    ("section", "method", "key", "takes"),
    [
        ("aggregation", "mean", "delta", "p3m, p3m_onesided, satisfaction"),
        ("aggregation", "mean", "importance", "p3m, p3m_onesided, satisfaction"),
        ("aggregation", "median", "delta", "p3m, p3m_onesided, satisfaction"),
        ("aggregation", "median", "keep", "mean, p3m, p3m_onesided, satisfaction"),
        ("partition", "mdav", "seed", "local_search, optimal, blocked"),
    ],
)
def test_a_key_of_other_methods_is_refused_with_their_names(
    section, method, key, takes
):
    with pytest.raises(JobError) as no:
        Job(**PLAIN, **{section: {"method": method, key: 0.1}})
    assert no.value.problem == f"[{section}] method = {method!r} takes no {key}."
    assert no.value.fix == (
        f"leave {key} out, or choose a method that takes it: {takes}."
    )


def test_an_unknown_key_within_a_distance_gets_advice_how_to_write_one():
    wish = {"relative": 1, "delta": 3}
    with pytest.raises(JobError, match="write a number of 0 or more, "):
        Job(**PLAIN, aggregation={"method": "p3m", "delta": wish})


@pytest.mark.parametrize(
    ("key", "there"),
    [
        ("time_limit", "sweep, time_limit"),
        ("solver", "= one of merge-ilp, swap, sweep, solver"),
    ],
)
def test_a_key_of_repairs_under_privacy_is_sent_to_its_place(key, there):
    with pytest.raises(JobError) as no:
        Job(roles=ROLES, privacy={**LT, key: 3})
    assert no.value.problem == (
        f"[privacy] takes no {key}: it is a key of [privacy.repair]."
    )
    assert f"{there} = ... }}" in no.value.fix
    with pytest.raises(UnknownNameError, match="is called 'method'"):
        Job(roles=ROLES, privacy={**LT, "method": "swap"})


@pytest.mark.parametrize("method", ["local_search", "mdav", None])
def test_labels_to_set_out_from_are_refused_with_the_key_of_a_method(method):
    named = {} if method is None else {"method": method}
    with pytest.raises(JobError, match="initial_labels is no key of a job") as no:
        Job(**PLAIN, partition={**named, "initial_labels": [0, 0, 0]})
    assert no.value.fix.startswith('write initial = "mdav", the method that makes')
