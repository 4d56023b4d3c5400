"""A guideline on anonymisation: its criteria and sources, read from a TOML file."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, model_validator

from aggopt.core.section import Section
from aggopt.core.text_formats import read_toml
from aggopt.errors import AggoptError, JobError, require_known
from aggopt.inspection.standards.figures import FIGURES

FOLDER = Path(__file__).parent
FIX = "write title, scope, sources and criteria as docs/standards.md shows."
Text = Annotated[str, Field(min_length=1)]
Bound = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class GuidelineSource(Section):
    """A document.

    Attributes
    ----------
    document
        Author, title and number.
    year
        Year of publication; None if the document does not state it.
    url
        Address of its text.
    """

    document: Text
    year: int | None = None
    url: str = ""

    def cite(self, section: str) -> str:
        """Return the document, year and section, as text."""
        year = "" if self.year is None else f" ({self.year})"
        return f"{self.document}{year}{f', {section}' if section else ''}"


class Criterion(Section):
    """One line of a guideline.

    Attributes
    ----------
    requires
        What the guideline requires.
    source, section
        Name of the source, and the place in it.
    figure
        Name of the figure that decides; empty if only a person can judge.
    most, least
        Bound on the figure.  Without both, the figure is stated and a person judges.
    decide
        What a person must still decide.
    """

    requires: Text
    source: Text
    section: str = ""
    figure: str = ""
    most: Bound | None = None
    least: Bound | None = None
    decide: Text

    @model_validator(mode="after")
    def _check(self) -> "Criterion":
        """Refuse an unknown figure, and bounds without one or in the wrong order."""
        bounded = self.most is not None or self.least is not None
        if bounded and not self.figure:
            raise ValueError("most and least bound a figure: name it")
        if self.most is not None and (self.least or self.most) > self.most:
            raise ValueError("least is above most, so that no figure is within both")
        if self.figure:
            require_known("figure", self.figure, FIGURES)
        return self

    def is_met(self, value: float) -> bool:
        """Whether a value of the figure is within the bounds of the criterion."""
        return (self.most is None or value <= self.most) and (
            self.least is None or value >= self.least
        )


class Guideline(Section):
    """A guideline.

    Attributes
    ----------
    name
        Its name on the command line.
    title, scope
        Its full title, and the data that it is about.
    sources, criteria
        Its documents by name, and its lines.
    """

    name: Text
    title: Text
    scope: Text
    sources: dict[str, GuidelineSource]
    criteria: tuple[Criterion, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> "Guideline":
        """Refuse a criterion whose source is not among the sources."""
        for criterion in self.criteria:
            require_known("source", criterion.source, self.sources)
        return self

    def cite(self, criterion: Criterion) -> str:
        """Return the source of a criterion, as text."""
        return self.sources[criterion.source].cite(criterion.section)


def list_standards() -> tuple[str, ...]:
    """Return the names of the guidelines of this package."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def read_guideline(name: str) -> Guideline:
    """Return a guideline of this package by its name, or one in a TOML file.

    Raises
    ------
    UnknownNameError
        No guideline has this name, and it does not end in .toml.
    JobError
        The file cannot be read, or its entries are not those of a guideline.
    """
    path = Path(name)
    if path.suffix.lower() != ".toml":
        require_known("standard", name, list_standards())
        path = FOLDER / f"{name}.toml"
    entries = read_toml(path, absent="check the path.", wrong=FIX)
    try:
        return Guideline.model_validate({"name": path.stem, **entries})
    except ValidationError as invalid:
        problem = _describe_invalid(invalid)
    raise JobError(f"The standard {path.name} cannot be used: {problem}.", fix=FIX)


FAULTS = {
    "extra_forbidden": "this key is unknown",
    "missing": "this key is missing",
}


def _describe_invalid(invalid: ValidationError) -> str:
    """Return the place and the fault of the first entry that is refused."""
    first = invalid.errors(include_url=False)[0]
    cause = first.get("ctx", {}).get("error")
    fault = FAULTS.get(first["type"], "this entry has a wrong type or is empty")
    if cause is not None:
        text = cause.problem if isinstance(cause, AggoptError) else str(cause)
        fault = text.rstrip(".")
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {fault}" if place else fault
