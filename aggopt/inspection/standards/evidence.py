"""Evidence of a release for a guideline: JSON, and a page that opens offline."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from aggopt.inspection.standards.guideline import Guideline
from aggopt.inspection.standards.judgement import (
    CAUTION,
    CriterionJudgement,
    Judgement,
    judge_release,
)
from aggopt.job import Job
from aggopt.pipeline.review.review_release import Review
from aggopt.release.files.staging import Staging
from aggopt.release.report.page import DataTable, fill_template


@dataclass(frozen=True)
class ReleaseEvidence:
    """What a release has of the criteria of guidelines.

    Attributes
    ----------
    release
        Name of the file or folder.
    review
        The audit and the measures of the release.
    judgements
        One for each guideline.
    """

    release: str
    review: Review
    judgements: tuple[Judgement, ...]

    @property
    def missed(self) -> int:
        """Number of criteria that are missed, of all guidelines."""
        return sum(judgement.missed for judgement in self.judgements)

    @property
    def is_satisfied(self) -> bool:
        """Whether no criterion is missed, and all requirements of the job hold."""
        return self.review.holds and not self.missed

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; no value of a record."""
        return {
            "release": self.release,
            "holds": self.review.holds,
            "missed": self.missed,
            "caution": CAUTION,
            "standards": [judgement.to_dict() for judgement in self.judgements],
            "figures": self.review.to_dict(),
        }


def collect_evidence(
    release: str, job: Job, review: Review, guidelines: Sequence[Guideline]
) -> ReleaseEvidence:
    """Return the evidence of a reviewed release, for each guideline."""
    judgements = (judge_release(guideline, job, review) for guideline in guidelines)
    return ReleaseEvidence(release, review, tuple(judgements))


def write_evidence(
    evidence: ReleaseEvidence, out: Path, page: Path | None, *, overwrite: bool
) -> None:
    """Write the evidence as JSON, and as a page if one is named: both or none.

    The files have mode 0600, because figures are measured with the originals.
    """
    texts = {out: json.dumps(evidence.to_dict(), indent=1, ensure_ascii=False) + "\n"}
    if page is not None:
        texts[page] = render_evidence(evidence)
    with Staging() as staging:
        for path, text in texts.items():
            staging.write(path, partial(_write_text, text))
        staging.commit(*texts, overwrite=overwrite)


def _write_text(text: str, to: Path) -> None:
    """Write a text to a file."""
    to.write_text(text, encoding="utf-8")


def render_evidence(evidence: ReleaseEvidence) -> str:
    """Return the page: a table for each guideline, in the style of the report."""
    return fill_template(
        "evidence.html",
        title=f"Evidence of {evidence.release}",
        caution=CAUTION,
        is_satisfied=evidence.is_satisfied,
        audit=evidence.review.audit.verdict,
        standards=[
            (judgement, _make_table(judgement)) for judgement in evidence.judgements
        ],
    )


def _make_table(judgement: Judgement) -> DataTable:
    """Return the criteria of a guideline as a table, one row each."""
    return DataTable(
        f"Criteria of {judgement.guideline.name}",
        ("requires", "state", "release", "a person must decide", "source"),
        [_make_row(line) for line in judgement.lines],
    )


def _make_row(line: CriterionJudgement) -> tuple[str, ...]:
    criterion = line.criterion
    return (criterion.requires, line.state, line.does, criterion.decide, line.source)
