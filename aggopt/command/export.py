"""The commands that hand a program to other solvers: `export`, `import-solution`."""

from pathlib import Path
from typing import Annotated

import typer

from aggopt.command import console
from aggopt.command.arguments import AsJson, JobFile, Overwrite, TableFile, Trust
from aggopt.command.causes import NO
from aggopt.command.interrupt import interrupts

Attribute = Annotated[str, typer.Option(help="A quasi-identifier that is a number.")]


def export(
    table: TableFile,
    job: JobFile,
    trust: Trust,
    attribute: Attribute,
    out: Annotated[Path, typer.Option(help="Where to write the program.")],
    format: Annotated[str, typer.Option(help="nl, lp or mps.")] = "nl",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write the program that JOB states of one attribute of TABLE, for other solvers.

    It holds the originals, standardised, and the key beside it the secret margins: both
    can be read by you alone, and are not to be given away.
    """
    from aggopt.pipeline.programs import export as exported

    with interrupts.result(f"{out.name} and its key are written"):
        made = exported.export(
            table, job, attribute, out, format=format, trust=trust, overwrite=overwrite
        )
    if as_json:
        files = {"program": str(made.program), "key": str(made.key)}
        console.as_json({"attribute": attribute, "files": files})
        return
    console.line(f"{made.program} holds the originals of {attribute!r}, standardised.")
    console.line(f"{made.key} is its key: keep both to yourself.")


def import_solution(
    table: TableFile,
    job: JobFile,
    solution: Annotated[Path, typer.Argument(metavar="SOL", help="A solution file.")],
    trust: Trust,
    attribute: Attribute,
    key: Annotated[
        Path | None, typer.Option(help="That of the export, if not beside SOL.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge a solution of an exported program by its model; write nothing.

    Exit code 1 where it misses a constraint.
    """
    from aggopt.pipeline.programs import export as exported

    made = exported.import_solution(
        table, job, attribute, solution, key=key, trust=trust
    )
    (proof,) = made.certificates
    if as_json:
        console.as_json(proof.to_dict())
    else:
        figures = f"objective {proof.objective:.6g}, violation {proof.violation:.1e}"
        console.line(f"{attribute}: {proof.status}, {figures}; nothing is proven.")
    if not proof.status.usable:
        raise typer.Exit(NO)
