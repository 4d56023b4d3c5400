"""Whatever is wrong with a job is said in this package's words."""

import datetime
import re
from typing import get_args, get_origin

import pytest
from pydantic import BaseModel
from refusals import refused
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
    except JobError as error:
        return str(error)
    return None


def test_the_words_for_each_kind_of_mistake_are_there():
    assert all(words.startswith("write") for words in _KINDS.values())


@pytest.mark.parametrize(
    "sections",
    [
        {"input": {"separator": ",", "decimal": ","}},
        {"output": {"shuffle": False, "seed": 1}},
        {"output": {"shuffle": "yes"}},
        {"partition": {"method": "mdav", "ending": 3}},
        {"partition": 3},
        {"aggregation": {"method": "p3m", "alpha": 2}},
        {"output": 3},
        {"output": {"digits": 0}},
        {"output": {"digits": 2.0}},
        {"output": {"decimals": "y"}},
        {"output": {"decimals": 16}},
        {"output": {3: 4}},
        {"aggregation": {"method": "p3m", "options": {3: 4}}},
        {"output": {"digits": "x", "seed": -1}, "input": {"decimal": "x"}},
        {"privacy": {"k": "9" * 99}},
        {"privacy": {"k": -(10**5000)}},
        {"privacy": {"k": 3, "confidential": {"attributes": 3}}},
        {"privacy": {"k": 3, "confidential": {"delta": 3}}},
        {"privacy": {"k": 3, "t": 0.2, "confidential": {"int": {"levels": "x"}}}},
        {"roles": {"x": 1}},
    ],
)
def test_refusals_say_where_and_what_belongs_there(sections):
    with refused(JobError):
        Job(**{**PLAIN, **sections})


@pytest.mark.parametrize(
    "sections",
    [
        {"roles": ROLES, "privcy": {"k": 3}},
        {"roles": {"quasi-identifiers": ["a"]}, "privacy": {"k": 3}},
        {"roles": {"Quasi-Identifier": ["a"]}, "privacy": {"k": 3}},
        {"role": ROLES, "privacy": {"k": 3}},
        {"roles": ROLES, "privacy": {"K": 3}},
    ],
)
def test_a_key_that_is_missing_because_it_is_misspelled_is_suggested(sections):
    with refused(UnknownNameError):
        Job(**sections)


@pytest.mark.parametrize("key", ["seed", "solver", "effort", "block_size"])
def test_a_setting_of_a_method_that_is_not_named_asks_for_the_method(key):
    with pytest.raises(JobError, match=f"sets {key} and names no method") as no:
        Job(**PLAIN, partition={key: 1})
    assert "add method = one of" in no.value.fix
    with refused(JobError, "'sed'"):
        Job(**PLAIN, partition={"sed": 1})


@pytest.mark.parametrize(
    ("section", "method", "key"),
    [
        ("aggregation", "mean", "delta"),
        ("aggregation", "mean", "importance"),
        ("aggregation", "median", "delta"),
        ("aggregation", "median", "keep"),
        ("partition", "mdav", "seed"),
    ],
)
def test_a_key_of_other_methods_is_refused_with_their_names(section, method, key):
    with refused(JobError):
        Job(**PLAIN, **{section: {"method": method, key: 0.1}})


@pytest.mark.parametrize("bound", ["10", "exact", -1, float("inf"), float("nan")])
def test_a_bound_that_is_no_word_and_no_seconds_is_refused_with_both(bound):
    with refused(JobError, "'quick', 'none'", "seconds"):
        Job(**PLAIN, partition={"method": "mdav", "bound": bound})


def test_an_unknown_key_within_a_distance_gets_advice_how_to_write_one():
    wish = {"relative": 1, "delta": 3}
    with refused(JobError):
        Job(**PLAIN, aggregation={"method": "p3m", "delta": wish})


@pytest.mark.parametrize("key", ["time_limit", "solver"])
def test_a_key_of_repairs_under_privacy_is_sent_to_its_place(key):
    with refused(JobError, "[privacy]", "[privacy.repair]"):
        Job(roles=ROLES, privacy={**LT, key: 3})
    with refused(UnknownNameError, "'method'"):
        Job(roles=ROLES, privacy={**LT, "method": "swap"})


@pytest.mark.parametrize("method", ["local_search", "mdav", None])
def test_labels_to_set_out_from_are_refused_with_the_key_of_a_method(method):
    named = {} if method is None else {"method": method}
    with refused(JobError, "initial_labels"):
        Job(**PLAIN, partition={**named, "initial_labels": [0, 0, 0]})
