"""Code of the user's that a cell runs, as a hash that changes with it."""

from hashlib import sha256
from inspect import getsource, getsourcefile
from pathlib import Path
from typing import Any

from aggopt.errors import JobError
from aggopt.job import Job
from aggopt.job._own import own_methods


def code_of(job: Job) -> list[str]:
    """Return what tells the code of a job from any other: files by their bytes.

    Of an object it is the file that defines it, or in a notebook its own source.

    Raises
    ------
    JobError
        An object has no source, or holds values that its source does not say.
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
    except (OSError, TypeError):
        raise _unknown(name) from None
    return sha256(f"{function.__qualname__}\n".encode() + text).hexdigest()


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
