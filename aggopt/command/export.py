"""The commands that hand a program to other solvers: `export`, `import-solution`."""

from pathlib import Path
from typing import Annotated

import typer

from aggopt.command import console
from aggopt.command.arguments import AsJson, JobFile, Overwrite, TableFile, Trust
from aggopt.command.causes import NO
from aggopt.command.interrupt import interrupts

Attribute = Annotated[str, typer.Option(help="A quasi-identifier of numbers.")]


def run_export(
    table: TableFile,
    job: JobFile,
    trust: Trust,
    attribute: Attribute,
    out: Annotated[Path, typer.Option(help="The file for the program.")],
    format: Annotated[str, typer.Option(help="The format: nl, lp or mps.")] = "nl",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write the program of one attribute of TABLE for other solvers.

    JOB declares the program.  The file holds the originals, standardised, and the key
    next to it the secret margins.  Only you can read them: do not share them.
    """
    from aggopt.pipeline.programs import export as programs

    with interrupts.announce_result(f"{out.name} and its key are written"):
        program = programs.export(
            table, job, attribute, out, format=format, trust=trust, overwrite=overwrite
        )
    if as_json:
        files = {"program": str(program.program), "key": str(program.key)}
        console.print_json({"attribute": attribute, "files": files})
        return
    console.print_line(
        f"{program.program} holds the originals of {attribute!r}, standardised."
    )
    console.print_line(f"{program.key} is its key: keep both to yourself.")


def run_import_solution(
    table: TableFile,
    job: JobFile,
    solution: Annotated[Path, typer.Argument(metavar="SOL", help="A solution file.")],
    trust: Trust,
    attribute: Attribute,
    key: Annotated[
        Path | None,
        typer.Option(help="The key of the export, if it is not next to SOL."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a solution of an exported program by its model.

    The exit code is 1 if the solution violates a constraint.  It writes nothing.
    """
    from aggopt.pipeline.programs import export as programs

    solved = programs.import_solution(
        table, job, attribute, solution, key=key, trust=trust
    )
    (proof,) = solved.certificates
    if as_json:
        console.print_json(proof.to_dict())
    else:
        figures = f"objective {proof.objective:.6g}, violation {proof.violation:.1e}"
        console.print_line(
            f"{attribute}: {proof.status}, {figures}; nothing is proven."
        )
    if not proof.status.usable:
        raise typer.Exit(NO)
