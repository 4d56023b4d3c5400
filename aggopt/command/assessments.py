"""The commands that look at releases that are written, and write nothing."""

from typing import Annotated

import typer

from aggopt.command import console, show
from aggopt.command.arguments import (
    AsJson,
    JobFile,
    MaskedFile,
    PrivateFolder,
    SameOrder,
    TableFile,
    Trust,
    words,
)

SIZE = 3  # attributes of a combination that makes a record special


def assess(
    table: TableFile,
    masked: MaskedFile,
    job: JobFile,
    trust: Trust,
    same_order: SameOrder = False,
    private: PrivateFolder = None,
    as_json: AsJson = False,
) -> None:
    """Recount MASKED from its values and measure its risk and loss against TABLE."""
    from aggopt.pipeline.partition_step import job_of
    from aggopt.pipeline.reassess import review

    asked = job_of(job, trust)
    found = review(table, masked, asked, same_order=same_order, private=private)
    if as_json:
        console.as_json(found.to_dict())
    else:
        show.review(found)
    if not found.audit.holds:
        raise typer.Exit(1)


def risk(
    table: TableFile,
    masked: MaskedFile,
    job: JobFile,
    trust: Trust,
    weight: Annotated[
        str, typer.Option(help="The column of sampling weights; else the job's.")
    ] = "",
    unit: Annotated[
        str, typer.Option(help="Columns that name the household; else the job's.")
    ] = "",
    target: Annotated[
        str,
        typer.Option(help="Columns that may be given away; else the job's, or all."),
    ] = "",
    suda: Annotated[
        int | None,
        typer.Option(min=1, help="Attributes that may make a record special: else 3."),
    ] = None,
    same_order: SameOrder = False,
    private: PrivateFolder = None,
    as_json: AsJson = False,
) -> None:
    """Measure the disclosure risk of MASKED, and of TABLE before it was masked.

    Individual and household risk, special records (SUDA), what groups give away,
    linkage and intervals beside chance.  What JOB says under [risk] is taken where the
    options say nothing; of targets, all that is confidential where it says nothing.
    """
    from aggopt.command import show_risk
    from aggopt.job import Risk
    from aggopt.pipeline.partition_step import job_of
    from aggopt.pipeline.reassess import review

    asked = job_of(job, trust)
    own = asked.risk
    wanted = Risk(
        weight=weight or own.weight,
        unit=tuple(words(unit)) or own.unit,
        target=tuple(words(target)) or own.target or asked.roles.confidential,
        suda=suda or own.suda or SIZE,
    )
    wanted.require(asked.roles)
    asked = asked.model_copy(update={"risk": wanted})
    found = review(table, masked, asked, same_order=same_order, private=private)
    if as_json:
        console.as_json(found.to_dict())
    else:
        show_risk.risk(found)
    if not found.audit.holds:
        raise typer.Exit(1)
