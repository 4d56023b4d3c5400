"""Code of the user's that a cell runs, as a hash that changes with it."""

import json
from collections.abc import Iterator
from hashlib import sha256
from inspect import getsource, getsourcefile
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from aggopt.core.section import to_plain
from aggopt.errors import JobError
from aggopt.job import Job
from aggopt.job.user_code import own_methods


def code_of(job: Job) -> list[str]:
    """Return the identity of a job's code: of files their bytes.

    Of an object it is the file that defines it, or in a notebook its own source, and
    its defaults; other names of its module that it uses at run time do not count.

    Raises
    ------
    JobError
        An object has no source, holds values that its source does not show, or differs
        from the current content of its file.
    """
    return [
        method.origin.sha256 or method.origin.package or _source(method)
        for method in own_methods(job)
    ]


def _source(method: Any) -> str:
    name, function = method.origin.name, _thing(method)
    if getattr(function, "__code__", None) is None or function.__closure__:
        raise _unknown(name)
    try:
        file = getsourcefile(function)
        whole = file is not None and Path(file).is_file()
        text = Path(str(file)).read_bytes() if whole else getsource(function).encode()
        said = f"{function.__qualname__}\n{_defaults(function)}\n"
    except (OSError, TypeError, ValueError):
        raise _unknown(name) from None
    if whole and not _reached(function) <= _written(text):
        raise JobError(
            f"{name} is not what its file says: the file has changed since it was "
            "loaded.",
            fix="load it again, in a new process; or leave cache out.",
        )
    return sha256(said.encode() + text).hexdigest()


def _defaults(function: FunctionType) -> str:
    """Return the defaults as text; ValueError if a job file could not hold one."""
    named = function.__kwdefaults__ or {}
    given = [*(function.__defaults__ or ()), *named, *named.values()]
    return json.dumps([None if each is None else to_plain(each) for each in given])


def _reached(function: FunctionType) -> set[CodeType]:
    """Return the code of a function, and of the functions of its file that it names."""
    found, left = set[CodeType](), [function]
    while left:
        code = left.pop().__code__
        found.add(code)
        names = {name for each in _nested(code) for name in each.co_names}
        named = (function.__globals__.get(name) for name in names)
        left += [
            each
            for each in named
            if isinstance(each, FunctionType)
            and each.__code__.co_filename == code.co_filename
            and each.__code__ not in found
        ]
    return found


def _written(text: bytes) -> set[CodeType]:
    """Return all code that a file has; none if it cannot be compiled."""
    try:
        return set(_nested(compile(text, "", "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):
        return set()


def _nested(code: CodeType) -> Iterator[CodeType]:
    """Yield code and all that is defined in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _nested(inner)


def _thing(method: Any) -> Any:
    """Return the object of Python's that a method was made of."""
    program: Any = getattr(method, "model", None)
    if hasattr(program, "thing"):
        return program.thing
    called = getattr(method, "run", None) or getattr(method, "function", None)
    return getattr(called, "function", called)


def _unknown(name: str) -> JobError:
    return JobError(
        f"A cache cannot tell {name} from another: it has no source, or holds values "
        "of its own.",
        fix="write it as a plain function of a file, what it needs as its settings; or "
        "leave cache out.",
    )
