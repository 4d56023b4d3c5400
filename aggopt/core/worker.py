"""A process in which solvers run: it answers one request after another.

Requests and answers are sent through pipes, so that no file holds them.  The output of
a solver is discarded, or sent through another pipe into the log.  Its error output is
always sent through that pipe, and shows whether it ran out of memory.  This file
imports little: a call imports its dependencies with its function.
"""

import ctypes
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

# Messages without content
READY = b"R"
COMPILES = b"C"
COMPILED = b"c"
RETURNED = b"A"
RAISED = b"E"
FAILED = b"F"
EXHAUSTED = b"M"
SCRATCH = "AGGOPT_SCRATCH"  # the variable that names the folder for files
_LENGTH = 8  # bytes of a message's length
_THREAD = 1 << 27  # bytes that a thread reserves, and does not use


class Request(NamedTuple):
    """A call, and its conditions.

    Attributes
    ----------
    modules
        Modules to import before the time limit begins.
    call
        A pickled pair: a function and its arguments.
    logged
        Whether the output of the solver is kept.
    folder
        Folder for files of the solver; None for a solver that writes no files.
    memory
        Bytes that the call may allocate; None to keep the previous limit.
    """

    modules: tuple[str, ...]
    call: bytes
    logged: bool
    folder: str | None
    memory: int | None


class _Inside:
    """Whether this process is a worker: then solvers run here."""

    is_worker = False


inside = _Inside()
_objects: list[Any] = []  # what this process keeps from one call to the next: one, or 0


def pack_message(kind: bytes, content: bytes = b"") -> bytes:
    """Return a message: its kind, the length of its content, and that."""
    return kind + len(content).to_bytes(_LENGTH, "big") + content


def unpack_message(received: bytes | bytearray) -> tuple[bytes, bytes, int] | None:
    """Return kind and content of the first message and its length; None if cut off."""
    begin = 1 + _LENGTH
    if len(received) < begin:
        return None
    end = begin + int.from_bytes(received[1:begin], "big")
    if len(received) < end:
        return None
    return bytes(received[:1]), bytes(received[begin:end]), end


def answer_requests() -> None:
    """Answer requests until the input ends."""
    inside.is_worker = True
    null = os.open(os.devnull, os.O_RDWR)
    requests = os.dup(0)
    replies = os.dup(1)
    printed = os.dup(2)
    for stream in (0, 1):  # programs that a solver starts have these, too
        os.dup2(null, stream)
    with (
        os.fdopen(requests, "rb") as requests_file,
        os.fdopen(replies, "wb", 0) as answers,
    ):
        while length := requests_file.read(_LENGTH):
            request = Request(
                *pickle.loads(requests_file.read(int.from_bytes(length, "big")))
            )
            if not request.logged:
                answers.write(_run_request(request, answers))
                continue
            _redirect_descriptor(printed)
            try:
                message = _run_request(request, answers)
            finally:
                _redirect_descriptor(null)
            answers.write(message)


def _redirect_descriptor(descriptor: int) -> None:
    flush()
    os.dup2(descriptor, 1)


def flush() -> None:
    """Flush buffered output, so that it reaches its own destination."""
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL("msvcrt" if os.name == "nt" else None).fflush(None)


def _run_request(request: Request, answers: BinaryIO) -> bytes:
    from aggopt.core.deadline import compile_time

    if request.folder is not None:
        os.environ[SCRATCH] = tempfile.tempdir = request.folder

    def listen(kernel: str | None) -> None:
        answers.write(pack_message(COMPILED if kernel is None else COMPILES))

    try:
        for module in request.modules:
            import_module(module)
        if request.memory is not None:
            _limit_memory(request.memory)
        answers.write(pack_message(READY))
        function, arguments = _load_call(request.call)
        with compile_time.reported_to(listen):
            return pack_message(RETURNED, _pickle_result(function(*arguments)))
    except MemoryError:
        return pack_message(EXHAUSTED)
    except Exception as error:
        with suppress(Exception):
            return pack_message(RAISED, _pickle_result(error.with_traceback(None)))
        return pack_message(FAILED)


def _load_call(call: bytes) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function and its arguments.

    Raises
    ------
    JobError
        They cannot be loaded here.
    """
    from aggopt.errors import AggoptError, JobError

    try:
        function, arguments = pickle.loads(call)
    except (AggoptError, MemoryError):
        raise
    except Exception as error:
        kind = type(error).__name__
        raise JobError(
            "Solvers run in a process of their own, and what this one is asked cannot "
            f"be loaded there ({kind}).",
            fix="put code of yours into a module that can be imported, or into a file "
            "that you trust.",
        ) from None
    return function, arguments


def _pickle_result(thing: object) -> bytes:
    try:
        return pickle.dumps(thing)
    except Exception:
        import cloudpickle  # type: ignore[import-untyped]

        packed: bytes = cloudpickle.dumps(thing)
        return packed


def _limit_memory(memory: int) -> None:
    """Let this process allocate `memory` more bytes, so that it does not swap."""
    try:
        import resource
    except ImportError:  # Windows
        return
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        threads = (os.cpu_count() or 1) * _THREAD
        limit = pages * resource.getpagesize() + memory + threads
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def call_methods(
    make: Callable[[], Any], steps: list[tuple[Callable[..., Any], tuple[Any, ...]]]
) -> Any:
    """Call methods of this process's object, made first; return the last answer."""
    if not _objects:
        _objects.append(make())
    *before, (last, arguments) = steps
    for method, method_arguments in before:
        method(_objects[0], *method_arguments)
    return last(_objects[0], *arguments)


def drop_object() -> None:
    """Keep the object no longer."""
    _objects.clear()


if __name__ == "__main__":
    from aggopt.core.worker import answer_requests as _main  # `inside` has one place

    _main()
