"""Description of a masked folder: manifest, certificates, measures, notes."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aggopt.core.plural import plural
from aggopt.engine.folder_release import FolderRelease
from aggopt.engine.reduce.certificates import GROUPS, FolderCertificates
from aggopt.engine.runs.journal import PACKAGES
from aggopt.engine.state.run_state import BlockState
from aggopt.engine.steps.weights import describe_folder_weights
from aggopt.engine.storage.input_parts import count_records_before
from aggopt.engine.storage.scratch_files import load_state
from aggopt.job import Job, P3m
from aggopt.pipeline.aggregate import margins
from aggopt.release.audit.audit import Audit
from aggopt.release.manifest import SHUFFLED, list_versions


def make_folder_release(
    proofs: FolderCertificates,
    audit: Audit,
    config: BlockState,
    files: list[dict[str, Any]],
    folders: tuple[Path, Path],
) -> FolderRelease:
    """Return the release whose `folders`, public and private, are about to appear."""
    measures = {
        **proofs.losses,
        "highest risk": 1 / audit.combination,
        "average risk": audit.groups / audit.records,
    }
    certificates = {GROUPS: proofs.partition, **proofs.attributes()}
    strata = None if config.strata is None else load_state(config.strata)
    notes = _list_notes(proofs, audit, config)
    entries = {
        "blocks": len(config.blocks),
        "audit": audit.to_dict(),
        "measures": measures,
        "certificates": {name: c.to_dict() for name, c in certificates.items()},
        "notes": list(notes),
        **({"strata": strata.to_dict()} if strata else {}),
        "output": {"files": files, "secret": config.secret},
    }
    out, private = folders
    return FolderRelease(
        path=out,
        private=private,
        manifest=_describe_input(proofs, config) | entries,
        audit=audit,
        certificates=certificates,
        measures=measures,
        notes=notes,
    )


def _list_notes(
    proofs: FolderCertificates, audit: Audit, config: BlockState
) -> tuple[str, ...]:
    """Return the notes of the release."""
    strata = None if config.strata is None else load_state(config.strata)
    return (
        *audit.disclosures,
        *_describe_margins(config.job),
        *config.reasons,
        *(strata.notes if strata else ()),
        *describe_folder_weights(config),
        *proofs.categories.notes(),
        *_describe_missing(audit),
        "Linkage and interval disclosure are not measured: they compare all records, "
        "as aggopt assess does, of folders that fit memory.",
        _describe_blocks(config, proofs.groups.n),
    )


def _describe_input(proofs: FolderCertificates, config: BlockState) -> dict[str, Any]:
    """Return the part of the manifest on the input and the settings."""
    drifts = proofs.figures.drifts(config)
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": list_versions(["python", *PACKAGES]),
        "job": config.job.model_dump(mode="json", by_alias=True),
        "code": [origin.to_dict() for origin in config.job.code],
        "input": {
            "files": sorted(count_records_before(config.pieces)),
            "records": sum(piece.records for piece in config.pieces),
        },
        "order": SHUFFLED,
        "rounding": {name: asdict(moved) for name, moved in drifts.items()},
    }


def _describe_blocks(config: BlockState, n: int) -> str:
    """Return the description of the blocks within which groups were searched."""
    blocks = len(config.blocks)
    block_size = n // blocks
    return (
        f"Groups were made in {plural(blocks, 'block')} of about {block_size} records."
    )


def _describe_missing(audit: Audit) -> tuple[str, ...]:
    """Return the notes on missing values."""
    if audit.missing is None:
        return ()
    text = "Information loss is that of the values that are there and published."
    suppressed = () if audit.missing.suppressed is None else (text,)
    return (*audit.missing.notes, *suppressed)


def _describe_margins(job: Job) -> tuple[str, ...]:
    """Return the notes on the distances that records request."""
    aggregation = job.aggregation
    if not isinstance(aggregation, P3m):
        return ()
    return (margins.WARNING if aggregation.margin == 0 else margins.ASKED,)
