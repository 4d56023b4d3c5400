"""Imports run one way: no circle, and no folder imports one that stands above it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import aggopt

PACKAGE = Path(aggopt.__file__).parent
FLOORS = (  # from the top down; each may import those after it, late imports too
    "__main__",
    "command",
    "app",
    "__init__",
    "sklearn",
    "inspection",
    "checks",
    "experiments",
    "engine",
    "pipeline",
    "release",
    "data",
    "job",
    "aggregate",
    "repair",
    "partition",
    "missing",
    "algorithms",
    "models",
    "measure",
    "encoding",
    "privacy",
    "solvers",
    "datasets",
    "core",
    "errors",
)
STAGES = {  # the same for the folders and files of a room
    "pipeline": (
        "__init__",
        "review",
        "mask",
        "programs",
        "finish",
        "aggregate",
        "partition",
        "waves",
        "validate",
        "prepare",
    ),
    "engine": (
        "__init__",
        "mask",
        "run",
        "folder_release",
        "report_data",
        "folder_review",
        "certificates",
        "convert",
        "column_plan",
        "resource_check",
        "runs",
        "executors",
        "steps",
        "state",
        "storage",
        "validate",
    ),
}
SHARED_METHODS = {  # private files that another room imports
    ("algorithms", "solvers._cvxpy"),  # loads the language before its clock starts
    ("repair", "partition._closeness_first"),
    ("repair", "partition._local_search"),
}
REFUSING = (
    "engine",
    "pipeline",
)  # rooms in which a file refuses or works, and does not do both
CHECKED_IN_TURN = {
    "aggopt.engine.validate.supported_settings": {"find_unsupported"},
    "aggopt.pipeline.validate.preflight_checks": {"list_checks"},
}


def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name."""
    found = [*PACKAGE.rglob("*.py"), *(PACKAGE / "models").glob("*.py")]  # a link
    paths = {path.relative_to(PACKAGE.parent) for path in found}
    return {".".join(p.with_suffix("").parts): PACKAGE.parent / p for p in paths}


MODULES = modules()


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of the package that a file imports, at once or late."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from filter(None, (module(alias.name) for alias in node.names))
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found = module(f"{node.module}.{alias.name}") or module(node.module)
                if found:
                    yield found


def module(name: str) -> str | None:
    """Return the module of this name, a folder's being its __init__."""
    return next((m for m in (name, f"{name}.__init__") if m in MODULES), None)


@cache
def arrows() -> dict[str, set[str]]:
    """Return what each module imports, but the first: it names folders for checkers."""
    return {
        name: set(imported(path)) - {name}
        for name, path in MODULES.items()
        if name != "aggopt.__init__"
    }


def floor(module: str) -> str:
    return module.split(".")[1]


def test_every_folder_has_a_floor() -> None:
    assert {floor(name) for name in MODULES} == set(FLOORS)


def test_nothing_imports_what_stands_above_it() -> None:
    up = [
        f"{name} -> {other}"
        for name, others in arrows().items()
        for other in others
        if FLOORS.index(floor(other)) < FLOORS.index(floor(name))
    ]
    assert up == []


@pytest.mark.parametrize("room", STAGES)
def test_no_stage_imports_a_later_one(room: str) -> None:
    order = STAGES[room]
    inside = {name: name.split(".")[2] for name in MODULES if floor(name) == room}
    assert set(inside.values()) == set(order)
    up = [
        f"{name} -> {other}"
        for name, stage in inside.items()
        for other in arrows()[name]
        if floor(other) == room
        and order.index(inside[other]) < order.index(stage)
        and inside[other] != "__init__"
    ]
    assert up == []


@pytest.mark.parametrize("room", REFUSING)
def test_a_file_with_refusals_does_no_work(room: str) -> None:
    both = []
    for name, path in MODULES.items():
        if floor(name) != room:
            continue
        body = ast.parse(path.read_text("utf-8")).body
        functions = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        refusals = {n for n in functions if n.lstrip("_").startswith("require_")}
        work = {n for n in functions - refusals if not n.startswith("_")}
        if refusals and work - CHECKED_IN_TURN.get(name, set()):
            both.append(f"{name}: {sorted(work)} beside {sorted(refusals)}")
    assert both == []


def test_no_room_imports_a_private_file_of_another() -> None:
    private = set()
    for name, others in arrows().items():
        for other in others:
            parts = other.split(".")[1:]
            hidden = [i for i, part in enumerate(parts) if part[0] == "_"]
            if floor(other) != floor(name) and hidden and parts[hidden[0]][:2] != "__":
                private.add((floor(name), ".".join(parts[: hidden[0] + 1])))
    assert private == SHARED_METHODS


def test_no_circle_of_files() -> None:
    waiting = dict(arrows())
    done: set[str] = {"aggopt.__init__"}
    while ready := {name for name, others in waiting.items() if others <= done}:
        done |= ready
        waiting = {n: o for n, o in waiting.items() if n not in ready}
    assert sorted(waiting) == []
