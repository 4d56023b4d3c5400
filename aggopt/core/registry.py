"""Methods by name: each is declared in a separate file, and found by its folder.

A method is one frozen object: its name, its function, its typed settings, and one line
of when to use it.  Its file is `_NAME.py`, or `_NAME/NAME.py` if it has a room, in the
folder of its kind.  To add a method, add that file.  Sections of a job, help, tables of
the documentation and laws that every method obeys are derived from these objects.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, signature
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Generic, TypeVar

from aggopt.core.plugins.loading import (
    Origin,
    find_origin,
    find_plugins,
    is_code_file,
    load_plugin,
)
from aggopt.errors import JobError, require_known


@dataclass(frozen=True, kw_only=True)
class Method:
    """Declaration that every method has.

    Attributes
    ----------
    name
        Name in jobs, messages and tables, unique in its kind.
    when
        One line of when to use it, without a full stop.
    rank
        Position in lists and among defaults: lowest rank first, equal ranks by name.
    origin
        Origin, if the method is not of this package.
    excused
        Maps each law of `aggopt.checks` that the method does not keep to the reason.
    """

    name: str
    when: str
    rank: int = 100
    origin: Origin | None = None
    excused: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def keys(self) -> frozenset[str]:
        """Names that no other method of its kind may have."""
        return frozenset({self.name})


Kind = TypeVar("Kind", bound=Method)
_PLAIN = (bool, int, float, list, tuple, Mapping)  # types that a job file can hold too


class Registry(Mapping[str, Kind], Generic[Kind]):
    """The methods of one kind, by name, in the order of their ranks.

    Nothing is imported before the first lookup.  Names that are `taken` elsewhere are
    refused.

    User code is adopted by `adopt`: `plugin_kind` is its kind, one of
    `aggopt.core.plugins.loading.KINDS`, and `adopt` makes a method of it.  The registry
    does not list this method.

    Examples
    --------
    >>> methods = Registry("aggopt.core", Method, "kind of method")
    >>> list(methods)
    []
    """

    def __init__(
        self,
        folder: str,
        kind: type[Kind],
        noun: str,
        taken: Iterable[str] = (),
        *,
        plugin_kind: str = "",
        adopt: Callable[[Any, Origin], Kind] | None = None,
    ) -> None:
        self.folder = folder
        self.kind = kind
        self.noun = noun
        self.taken = frozenset(taken)
        self.plugin_kind = plugin_kind
        self._adopt = adopt

    def __getitem__(self, name: str) -> Kind:
        return self._methods[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._methods)

    def __len__(self) -> int:
        return len(self._methods)

    def look_up(self, name: object) -> Kind:
        """Return the method of a name.

        Raises
        ------
        UnknownNameError
            The name is unknown; the message suggests the nearest name.
        """
        require_known(self.noun, name, tuple(self))
        return self[str(name)]

    def of(self, section: Any) -> Kind:
        """Return the method that a section of a job names, perhaps a user method."""
        user_method: Kind | None = getattr(section, "own", None)
        return self[section.method] if user_method is None else user_method

    def reserves(self, name: str) -> bool:
        """Whether a name means something of this package: no code of the user's has it.

        An entry point of that name is ignored.
        """
        return name in self or name in self.taken

    def names_user_code(self, name: object) -> bool:
        """Whether it can only name code of the user's; none is loaded to know."""
        if not isinstance(name, str):
            plain = name is None or isinstance(name, _PLAIN)
            return not plain and self.find_declared(name) is None
        if self._adopt is None or self.reserves(name):
            return False
        return is_code_file(name) or name in find_plugins(self.plugin_kind)

    def adopt(self, name: object, *, beside: Path | None = None) -> Kind:
        """Return the named method, or a method from an object.

        A name is looked up here, then among entry points, and last as a file relative
        to the folder `beside`: no user code replaces a method.

        Raises
        ------
        UntrustedCodeError
            The code is in a file that the caller does not trust.
        UnknownNameError, JobError
            The name is unknown, the code cannot become a method, or an object has the
            name of a method of this package.
        """
        here = self.find_declared(name)
        if here is not None:
            return here
        if isinstance(name, self.kind) and name.origin is not None:
            return name  # adopted before
        if self._adopt is None or not self.names_user_code(name):
            return self.look_up(name)
        if isinstance(name, str):
            return self._adopt(*load_plugin(self.plugin_kind, name, beside=beside))
        origin = find_origin(self.plugin_kind, name)
        if origin.name in self or origin.name in self.taken:
            raise JobError(
                f"A {self.noun} of yours is called {origin.name!r}, as one of this "
                "package is.",
                fix="give it another name.",
            )
        return self._adopt(name, origin)

    def find_declared(self, name: object) -> Kind | None:
        """Return the method that has this name or function, or is it; None if none."""
        if isinstance(name, str):
            return self.get(name)
        matches = (m for m in self.values() if m is name or _has_function(m, name))
        return next(matches, None)

    @cached_property
    def _methods(self) -> dict[str, Kind]:
        by_identity = {id(m): m for file in self._files() for m in self._declared(file)}
        ordered = sorted(
            by_identity.values(), key=lambda method: (method.rank, method.name)
        )
        by_name = {method.name: method for method in ordered}
        if len(by_name) < len(ordered):
            names = [method.name for method in ordered]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise JobError(
                f"More than one {self.noun} is called {', '.join(map(repr, twice))}.",
                fix="give one of them another name.",
            )
        self._require_free_keys(ordered)
        return by_name

    def _require_free_keys(self, methods: Iterable[Kind]) -> None:
        owner: dict[str, str] = {}
        for method in methods:
            for key in sorted(method.keys):
                if key in self.taken or key in owner:
                    whose = f", as {owner[key]!r} has" if key in owner else ""
                    raise JobError(
                        f"The {self.noun} {method.name!r} has the name {key!r}{whose}, "
                        "which means something else already.",
                        fix="give it another name.",
                    )
                owner[key] = method.name

    def _files(self) -> Iterator[ModuleType]:
        """Yield the module of each `_NAME.py`, `NAME.py` and `_NAME/NAME.py`.

        Files of kernels are not among them: they import numba.
        """
        package = import_module(self.folder)
        for entry in iter_modules(package.__path__):
            if entry.name.endswith("kernels"):
                continue
            name = f"{self.folder}.{entry.name}"
            if entry.ispkg:
                name += f".{entry.name.removeprefix('_')}"
            if not entry.ispkg or find_spec(name) is not None:
                yield import_module(name)

    def _declared(self, file: ModuleType) -> Iterator[Kind]:
        """Yield the methods among the names of a file, alone or in tuples."""
        for value in vars(file).values():
            for method in value if isinstance(value, tuple) else (value,):
                if isinstance(method, self.kind):
                    yield method


def _has_function(method: Method, function: object) -> bool:
    return function is not None and getattr(method, "function", None) is function


def require_arguments(
    name: str, settings: Iterable[str], function: Callable[..., Any]
) -> None:
    """Refuse settings of a method that its function does not take, and `seconds`.

    Raises
    ------
    JobError
        A setting is called `seconds`, which is the time spent (the limit is
        `time_limit`); or no argument has the name of a setting.
    """
    fields = set(settings)
    if "seconds" in fields:
        raise JobError(
            f"{name!r} has a setting called 'seconds', which is what was spent.",
            fix="call it time_limit.",
        )
    arguments = signature(function).parameters
    any_name = any(p.kind is Parameter.VAR_KEYWORD for p in arguments.values())
    idle = [] if any_name else sorted(fields - set(arguments))
    if idle:
        raise JobError(
            f"{name!r} has settings that its function does not take: "
            f"{', '.join(idle)}.",
            fix="give the function arguments of these names, or remove the settings.",
        )
