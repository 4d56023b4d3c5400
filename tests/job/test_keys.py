"""The keys that type checkers know of a job are those that a job has."""

import ast
import importlib.util
import inspect
import re
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from mypy import api
from pydantic import BaseModel

import aggopt
from aggopt.job import Job, keys
from aggopt.job.roles import Roles

WRITER = Path(__file__).parents[2] / ".ci" / "job_keys.py"
if not WRITER.exists():
    pytest.skip("mutmut copies no .ci", allow_module_level=True)
SPEC = importlib.util.spec_from_file_location("job_keys", WRITER)
writer = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(writer)
SECTIONS = {
    getattr(keys, f"{name}Keys"): [*sections]
    for name, (_, sections) in writer.SECTIONS.items()
    if name != "Role"
}
OF = {section: kind for kind, own in SECTIONS.items() for section in own}
NAMED = {
    "method",
    "model",
    "initial",
    "inner",
    "repair",
    "solver",
    "extra",
    "own",
}  # by more than we have


def members(annotation: Any) -> set[Any]:
    """What an annotation allows, however it is written."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return members(inner[0])
    if origin in (Union, types.UnionType):
        return set().union(*map(members, inner))
    if origin is Literal:
        return set(inner)
    if annotation in OF:
        return {OF[annotation]}
    if origin is None:
        return {annotation}
    *_, last = (each for each in inner if each is not Ellipsis)
    whole = "by name" if issubclass(origin, Mapping) else "list"
    return {(whole, frozenset(members(last)))}


def allowed(sections: Iterable[type[BaseModel]]) -> dict[str, set[Any]]:
    """What each key of some sections may be, under each of its names."""
    found: dict[str, set[Any]] = {}
    for section in sections:
        for name, field in section.model_fields.items():
            for called in {name, field.alias or name} - {"arguments"}:  # beside it
                found.setdefault(called, set()).update(members(field.annotation))
    return found


def test_the_keys_are_written_from_the_sections() -> None:
    assert Path(keys.__file__).read_text("utf-8") == writer.formatted(), "make keys"


@pytest.mark.parametrize("kind", SECTIONS, ids=lambda kind: kind.__name__)
def test_each_section_has_the_keys_that_type_checkers_know(kind):
    known = {n: members(hint) for n, hint in get_type_hints(kind).items()}
    own = allowed(SECTIONS[kind])
    assert set(known) == set(own)
    plain = set(own) - NAMED
    assert {n: known[n] for n in plain} == {n: own[n] for n in plain}


def test_each_role_is_known_and_a_weight_by_its_name():
    known = {n: members(hint) for n, hint in get_type_hints(keys.RoleKeys).items()}
    own = allowed([Roles])
    assert known == own | {"weight": {str}}


def test_every_section_of_a_job_is_known():
    source = inspect.getsource(inspect.getmodule(Job))
    (known, _) = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    assert {argument.arg for argument in known.args.kwonlyargs} == set(Job.model_fields)


CLIENT = """
import aggopt

ROLES = {"quasi-identifier": ["age", "income"]}
job = aggopt.Job(
    roles=ROLES,
    privacy={"k": 5, "t": 0.2, "repair": {"method": "swap", "solver": "highs"}},
    partition={"method": "mdav", "attributes": [["age"], ["income"]]},
    aggregation={"method": "p3m", "delta": {"column": "far"}, "keep": "covariance"},
    output={"digits": "full"},
)
plain = aggopt.Job(roles={"quasi-identifier": ["age"]}, privacy=job.privacy)
aggopt.Job(roles={"quasi-identifier": ["age"], "weight": "w"}, privacy={"k": 5})
aggopt.experiment("people.csv", {"k": [3, 5]}, roles=ROLES).to_pandas().columns
"""
WRONG = {
    'aggopt.Job(roless=ROLES, privacy={"k": 5})': "call-arg",
    'aggopt.Job(roles=ROLES, privacy={"k": "five"})': "arg-type",
    'aggopt.Job(roles=ROLES, privacy={"kk": 5})': "arg-type",
    'aggopt.Job(roles={"quasi-identifier": "age"}, privacy={"k": 5})': "dict-item",
    'aggopt.Job(roles=ROLES, privacy={"k": 5}, partition={"m": "mdav"})': "arg-type",
    'aggopt.Job(roles=ROLES, privacy={"k": 5}, output={"digits": 0.5})': "arg-type",
    'aggopt.Job(roles=ROLES, privacy={"k": 5}).privcy': "attr-defined",
}


@pytest.mark.slow
def test_a_client_that_misspells_a_section_does_not_pass_mypy(tmp_path: Path) -> None:
    root = Path(aggopt.__file__).parent.parent
    client = tmp_path / "client.py"
    client.write_text("\n".join([CLIENT, *WRONG]))
    config = ["--config-file", str(root / "pyproject.toml"), "--strict"]
    said, error, _ = api.run([*config, str(client)])
    assert not error
    found = re.findall(r"client\.py:(\d+): error: .*\[([a-z-]+)\]", said)
    first = CLIENT.count("\n") + 2
    assert found == [(str(n), code) for n, code in enumerate(WRONG.values(), first)]
