"""Write the keys of a job's sections as type checkers see them.

Usage: python .ci/job_keys.py

`aggopt/job/keys.py` is made of the sections themselves: of the keys that each has, by
each of its names, and of what each may be.  Here is only what sections do not say.
"""

import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from subprocess import run
from sys import executable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from aggopt.aggregate import AGGREGATORS, CATEGORY_AGGREGATORS
from aggopt.aggregate import distance_requests as wishes
from aggopt.aggregate.kept_statistics import KeptApart
from aggopt.aggregate.user_model import ByModel
from aggopt.job import (
    AttributeSection,
    Correlation,
    Missing,
    Recommended,
    Strata,
    Units,
)
from aggopt.job._privacy import Privacy, Repairing, Treatment
from aggopt.job._section import Input, Output, Risk
from aggopt.job._sections import Measures, Sampling
from aggopt.job.earlier_section import EarlierGroups
from aggopt.job.engine_section import Engine
from aggopt.job.roles import Roles
from aggopt.partition import PARTITIONERS
from aggopt.privacy.models.dissimilarity import DissimilaritySettings
from aggopt.privacy.models.epsilon_m import ProximitySettings

FILE = Path(__file__).parent.parent / "aggopt/job/keys.py"
HEAD = '''\
"""The keys of a job's sections as type checkers see them: `Job(privacy={"k": 5})`.

All of them may be left out here; which ones a job needs, and what goes with what, it
says itself.  A section that names one of several methods has the keys of all of them.

`make keys` writes this file from the sections.
"""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Literal, TypeAlias, TypedDict

from aggopt.core.registry import Method

Own: TypeAlias = Callable[..., Any] | Method  # in place of a method's name
OwnAsked: TypeAlias = str | Own | Mapping[str, Any]
Columns: TypeAlias = list[str] | tuple[str, ...]  # no text, of which each letter is one
'''
METHOD = "str | Own"
BY_OWN_CODE = {  # keys that may hold code of the user's, which no annotation says
    "method": METHOD,
    "model": "str | Own | ModuleType",
    "initial": METHOD,
    "inner": METHOD,
    "repair": "RepairKeys | str | Own | None",
    "solver": f"{METHOD} | None",
    "extra": f"Sequence[{METHOD}]",
    "own": "OwnAsked | Sequence[OwnAsked]",
}
UNWRITTEN = {"arguments"}  # holds the settings of user code by their own names
Sections = Iterable[type[BaseModel]]
SECTIONS: Mapping[str, tuple[str, Sections]] = {
    "Role": ("[roles]: the columns of each role.", [Roles]),
    "Attribute": (
        "[attributes.NAME]: the type of a quasi-identifier, and its published form.",
        [AttributeSection],
    ),
    "Missing": ("[missing].", [Missing]),
    "Strata": ("[strata].", [Strata]),
    "Units": ("[units].", [Units]),
    "Weights": ("[weights].", [Sampling]),
    "Treatment": (
        "[privacy.confidential.NAME]: how values of a confidential attribute compare.",
        [Treatment],
    ),
    "Repair": ("[privacy.repair].", [Repairing]),
    "Proximity": ("[privacy.proximity].", [ProximitySettings]),
    "Dissimilarity": ("[privacy.dissimilarity].", [DissimilaritySettings]),
    "Privacy": ("[privacy].", [Privacy]),
    "Correlation": (
        "[partition.attributes]: those together that are correlated.",
        [Correlation],
    ),
    "Partition": (
        "[partition]: the keys of all methods.",
        [Recommended, EarlierGroups, *(m.settings for m in PARTITIONERS.values())],
    ),
    "Relative": ("A distance that is a share of each value.", [wishes.Relative]),
    "Column": (
        "A distance or importance in a column of the table.",
        [wishes.Column],
    ),
    "ByAttribute": (
        "Distances or importances of attributes, by name.",
        [wishes.ByAttribute],
    ),
    "Keep": (
        "[aggregation.keep]: more of some attributes than of others.",
        [KeptApart],
    ),
    "Category": (
        "[aggregation.categories]: the keys of all methods.",
        [m.settings for m in CATEGORY_AGGREGATORS.values()],
    ),
    "Aggregation": (
        "[aggregation]: the keys of all methods, or of a model of your own.",
        [ByModel, *(m.settings for m in AGGREGATORS.values())],
    ),
    "Measures": (
        "[measures]: those of the user's, and the most that may be lost.",
        [Measures],
    ),
    "Risk": ("[risk]: measures besides the risks of every release.", [Risk]),
    "Input": ("[input]: how a CSV file is written.", [Input]),
    "Output": ("[output]: how the release is written.", [Output]),
    "Engine": ("[engine]: the processes that do the work.", [Engine]),
}
CLASS_OF = {
    section: f"{name}Keys" for name, (_, own) in SECTIONS.items() for section in own
}


def type_parts(annotation: Any) -> Iterator[str]:
    """Yield each type that an annotation allows, as source."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from type_parts(inner[0])
    elif origin in (Union, types.UnionType):
        for each in inner:
            yield from type_parts(each)
    elif origin is Literal:
        yield f"Literal[{', '.join(map(repr, inner))}]"
    elif origin in (tuple, list):
        yield f"Sequence[{join_types(type_parts(inner[0]))}]"
    elif origin is dict:
        yield f"Mapping[str, {join_types(type_parts(inner[1]))}]"
    elif annotation is type(None):
        yield "None"
    elif annotation is Any:
        yield "Any"
    else:
        yield CLASS_OF.get(annotation, annotation.__name__)


def join_types(parts: Iterable[str]) -> str:
    """Return the source of a union, None last."""
    different = list(dict.fromkeys(parts))
    return " | ".join(sorted(different, key=lambda part: part == "None"))


def keys_of(name: str, sections: Sections) -> dict[str, str]:
    """Return the source of the type of each key of some sections, by its names."""
    parts: dict[str, list[str]] = {}
    for section in sections:
        for own, field in section.model_fields.items():
            of_field = list(type_parts(field.annotation))
            for key in dict.fromkeys([field.alias or own, own]):
                parts.setdefault(key, []).extend(of_field)
    keys = {key: join_types(each) for key, each in parts.items()}
    if name == "Role":
        return {key: "str" if key == "weight" else "Columns" for key in keys}
    return {k: BY_OWN_CODE.get(k, v) for k, v in keys.items() if k not in UNWRITTEN}


def class_source(name: str, words: str, keys: Mapping[str, str]) -> str:
    """Return the source of the type of some keys."""
    if all(key.isidentifier() and key != "with" for key in keys):
        lines = [
            f"    {key}: {kind}{'  # noqa: E741' if key == 'l' else ''}\n"
            for key, kind in keys.items()
        ]
        head = f'class {name}Keys(TypedDict, total=False):\n    """{words}"""\n\n'
        return head + "".join(lines)
    fields = ", ".join(f'"{key}": {kind}' for key, kind in keys.items())
    return f'{name}Keys = TypedDict("{name}Keys", {{{fields}}}, total=False)\n'


def source() -> str:
    """Return the source of the whole file, not formatted."""
    classes = [
        class_source(name, words, keys_of(name, sections))
        for name, (words, sections) in SECTIONS.items()
    ]
    names = "RoleNames: TypeAlias = Mapping[str, Columns] | RoleKeys\n"
    return "\n\n".join([HEAD, classes[0] + names, *classes[1:]])


def formatted() -> str:
    """Return the source of the whole file."""
    command = [executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"]
    made = run(command, input=source(), text=True, capture_output=True, check=True)
    return made.stdout


if __name__ == "__main__":
    FILE.write_text(formatted(), "utf-8")
