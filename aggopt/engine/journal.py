"""What a run has done so far, so that another can go on where it was killed.

Each step's results are noted once all of its files are there.  All files of a step come
from the job, the input, the versions of packages and the secret: a run of the same
goes on with them, and gives the same bytes.
"""

import pickle
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from aggopt.core.leftovers import adopted, left_in, own_part
from aggopt.core.randomness import require_secret, secret
from aggopt.engine.pieces import InputParts
from aggopt.engine.workspace import appear
from aggopt.errors import EngineError
from aggopt.job import Job
from aggopt.output.manifest import versions_of

PACKAGES = ("aggopt", "numpy", "scipy", "pandas", "pyarrow", "narwhals", "numba")
SAYS = "run"  # the name of the file that says whose the steps are
STAGE = "-stage"  # what the name of the second folder has beside that of the first
_CARRIERS = {"name", "jobs", "workers", "scheduler", "insecure", "work", "resume"}


class Identity(NamedTuple):
    """What the bytes of a release come from, beside its secret."""

    job: Any
    input: Any
    versions: Any

    @classmethod
    def of(cls, job: Job, parts: InputParts) -> "Identity":
        """Return that of a job and of files: by name, size and time of change."""
        said = job.model_dump(mode="json", by_alias=True)
        engine = said["engine"].items()
        said["engine"] = {key: value for key, value in engine if key not in _CARRIERS}
        files = []
        for path in dict.fromkeys(piece.path for piece in parts.pieces):
            seen = path.stat()
            files.append((str(path.resolve()), seen.st_size, seen.st_mtime_ns))
        return cls(said, files, versions_of(["python", *PACKAGES]))

    def differs(self, other: "Identity") -> list[str]:
        """Return in what they differ."""
        both = zip(self._fields, self, other, strict=True)
        return [name for name, own, others in both if own != others]


class LeftRun(NamedTuple):
    """What is said of a run in its folder: where it goes, of what, and its secret."""

    out: Path
    identity: Identity
    secret: str

    @classmethod
    def of(cls, out: Path, identity: Identity, known: str | None) -> "LeftRun":
        """Return a run whose secret is known, or drawn."""
        own = secret() if known is None else require_secret(known)
        return cls(out.absolute(), identity, own)


@dataclass(frozen=True)
class Journal:
    """Notes of the steps that a run has done, in its folder of files in between."""

    work: Path

    def begin(self, run: LeftRun) -> None:
        """Say whose the steps are."""
        _write(self.work / SAYS, run)

    def end(self) -> None:
        """Say that nobody can go on with them: they are about to be removed."""
        (self.work / SAYS).unlink(missing_ok=True)

    def note(self, step: str, results: list[Any]) -> None:
        """Note what a step has returned."""
        _write(self.work / f"done-{step}", results)

    def results(self, step: str) -> list[Any] | None:
        """Return what a step returned; None if it is yet to be done."""
        path = self.work / f"done-{step}"
        return list(pickle.loads(path.read_bytes())) if path.exists() else None


def _write(to: Path, what: object) -> None:
    appear(to, lambda aside: aside.write_bytes(pickle.dumps(what)))


def resumed(
    parent: Path, asked: LeftRun, known: str | None
) -> tuple[Path, Path, str] | None:
    """Return both folders of a killed run that is asked for again, and its secret.

    None if there is none.  The folders are this process's from here on.

    Raises
    ------
    EngineError
        What was left for the same place is of another job, input or version.
    """
    for work, left in _left_for(asked.out, parent):
        _require_same(work, left, asked, known)
        name = own_part(work) + STAGE
        stages = [path for path in left_in(asked.out.parent) if own_part(path) == name]
        if stages:
            return adopted(work), adopted(stages[0]), left.secret
        shutil.rmtree(work, ignore_errors=True)  # half of it is of no use
    return None


def _left_for(out: Path, parent: Path) -> Iterator[tuple[Path, LeftRun]]:
    for folder in left_in(parent):
        said = folder / SAYS
        if said.exists():
            left: LeftRun = pickle.loads(said.read_bytes())
            if left.out == out:
                yield folder, left


def _require_same(work: Path, left: LeftRun, asked: LeftRun, known: str | None) -> None:
    differs = asked.identity.differs(left.identity)
    if known is not None and left.secret != known:
        differs.append("secret")
    if differs:
        raise EngineError(
            f"A killed run has left {work.name} for {asked.out.name}, and has not the "
            f"same {', '.join(differs)}.",
            fix="run what it was; or leave resume out: then that is removed, and all "
            "is done anew.",
        )
