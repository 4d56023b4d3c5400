"""Code of the user's that a cell runs, as a hash that changes with it."""

from hashlib import sha256
from inspect import getsource, getsourcefile
from pathlib import Path
from typing import Any

from aggopt.core.own_section import OwnSection
from aggopt.errors import JobError
from aggopt.job import Job


def code_of(job: Job) -> list[str]:
    """Return what tells the code of a job from any other: files by their bytes.

    Of an object it is the file that defines it, or in a notebook its own source.

    Raises
    ------
    JobError
        An object has no source, or holds values that its source does not say.
    """
    methods = (section.own for _, section in job if isinstance(section, OwnSection))
    things = {method.origin: method for method in methods if method is not None}
    return [
        origin.sha256 or origin.package or _source(origin.name, things.get(origin))
        for origin in job.code
    ]


def _source(name: str, method: Any) -> str:
    called = getattr(method, "function", None)
    function: Any = getattr(called, "function", called)
    if getattr(function, "__code__", None) is None or function.__closure__:
        raise _unknown(name)
    try:
        file = getsourcefile(function)
        whole = file is not None and Path(file).is_file()
        text = Path(str(file)).read_bytes() if whole else getsource(function).encode()
    except (OSError, TypeError):
        raise _unknown(name) from None
    return sha256(f"{function.__qualname__}\n".encode() + text).hexdigest()


def _unknown(name: str) -> JobError:
    return JobError(
        f"A cache cannot tell {name} from another: it has no source, or holds values "
        "of its own.",
        fix="write it as a plain function of a file, what it needs as its settings; or "
        "leave cache out.",
    )
