"""Judge a job, or a release, by the criteria of a guideline."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aggopt.inspection.standards.figures import FIGURES, Finding
from aggopt.inspection.standards.guideline import Criterion, Guideline
from aggopt.job import Job
from aggopt.pipeline.review.review_release import Review

MET = "met"
MISSED = "missed"
OPEN = "open"  # nothing decides it yet
PERSON = "a person must judge"
CAUTION = (
    "No line says that a release is lawful. A guideline leaves decisions to persons, "
    "and these lines state figures for them."
)


@dataclass(frozen=True)
class CriterionJudgement:
    """The judgement of one criterion.

    Attributes
    ----------
    criterion, source
        The criterion, and its source as text.
    state
        "met", "missed", "open" or "a person must judge".
    value
        The figure; None without one.
    does
        What the job does, or what was counted on the release, as text.
    """

    criterion: Criterion
    source: str
    state: str
    value: float | None
    does: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        criterion = self.criterion
        return {
            "requires": criterion.requires,
            "source": self.source,
            "state": self.state,
            "figure": criterion.figure or None,
            "value": self.value,
            "most": criterion.most,
            "least": criterion.least,
            "does": self.does,
            "decide": criterion.decide,
        }


@dataclass(frozen=True)
class Judgement:
    """The judgement of a job or a release by one guideline.

    Attributes
    ----------
    guideline, lines
        The guideline, and a line for each of its criteria.
    of_release
        Whether figures were counted on a release; otherwise a job guarantees them.
    """

    guideline: Guideline
    lines: tuple[CriterionJudgement, ...]
    of_release: bool

    @property
    def missed(self) -> int:
        """Number of criteria that are missed."""
        return sum(line.state == MISSED for line in self.lines)

    @property
    def verdict(self) -> str:
        """The counts of criteria by state, as a sentence."""
        counts = [
            f"{sum(line.state == state for line in self.lines)} {state}"
            for state in (MET, MISSED, OPEN)
        ]
        judged = sum(line.state == PERSON for line in self.lines)
        return f"{', '.join(counts)}, {judged} for a person to judge."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "standard": self.guideline.name,
            "title": self.guideline.title,
            "scope": self.guideline.scope,
            "counted_on": "release" if self.of_release else "job",
            "missed": self.missed,
            "criteria": [line.to_dict() for line in self.lines],
            "sources": {
                name: source.model_dump()
                for name, source in self.guideline.sources.items()
            },
            "caution": CAUTION,
        }


def judge_job(guideline: Guideline, job: Job) -> Judgement:
    """Return the judgement of a job by what its settings guarantee, without a table."""
    findings = {name: figure.of_job(job) for name, figure in FIGURES.items()}
    return Judgement(guideline, _judge_lines(guideline, findings), of_release=False)


def judge_release(guideline: Guideline, job: Job, review: Review) -> Judgement:
    """Return the judgement of a release: figures that `review` counted on it."""
    findings = {
        name: figure.of_release(job, review) for name, figure in FIGURES.items()
    }
    return Judgement(guideline, _judge_lines(guideline, findings), of_release=True)


def _judge_lines(
    guideline: Guideline, findings: Mapping[str, Finding]
) -> tuple[CriterionJudgement, ...]:
    """Return the judgement of each criterion of a guideline."""
    return tuple(
        _judge_criterion(criterion, guideline.cite(criterion), findings)
        for criterion in guideline.criteria
    )


def _judge_criterion(
    criterion: Criterion, source: str, findings: Mapping[str, Finding]
) -> CriterionJudgement:
    """Return the judgement of a criterion by its figure, if it has one."""
    if not criterion.figure:
        return CriterionJudgement(
            criterion, source, PERSON, None, "No figure decides it."
        )
    finding = findings[criterion.figure]
    is_bounded = criterion.most is not None or criterion.least is not None
    if not is_bounded:
        state = PERSON
    elif finding.value is None:
        state = OPEN if finding.open else MISSED
    else:
        state = MET if criterion.is_met(finding.value) else MISSED
    return CriterionJudgement(criterion, source, state, finding.value, finding.words)
