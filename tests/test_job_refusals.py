"""Whatever is wrong with a job is said in this package's words."""

import datetime
import re
from typing import get_args, get_origin

import pytest
from pydantic import BaseModel
from tables import ROLES

from aggopt import Job
from aggopt.errors import JobError
from aggopt.job._refusal import _KINDS

RAW = re.compile(
    r"Value error|Input should|type=|pydantic|Extra inputs|validation|Unable to|"
    r"^\s*None|\{(ge|gt|le|lt|expected)\}|cannot be used$"
)
ODD = [
    *(None, True, -1, 0, 1e400, float("nan"), 10**400, 2.5, "x", "", "\ud800"),
    *([], ["x"], [1], [[]], {}, {"x": 1}, {"method": 3}, {3: 4}, b"x", object()),
    datetime.date(2020, 1, 1),
]
LT = {"k": 3, "l": 2, "t": 0.2}
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
    ],
)
def test_refusals_say_where_and_what_belongs_there(sections, said):
    with pytest.raises(JobError, match=said):
        Job(**{**PLAIN, **sections})
