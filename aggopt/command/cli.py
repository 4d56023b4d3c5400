"""The command `aggopt`.

`aggopt.command.causes` has the exit codes.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from signal import Signals
from typing import Annotated

import typer

from aggopt import __version__
from aggopt.command import console, show, show_experiments
from aggopt.command.app import run_page_command
from aggopt.command.arguments import (
    AsJson,
    Encoding,
    JobIfTable,
    Overwrite,
    TableOrCode,
    TableOrFolder,
    Trust,
    require_job,
    require_no_job,
)
from aggopt.command.assessments import run_assess, run_compare, run_risk, run_utility
from aggopt.command.causes import BY_SIGNAL, DONE, NO, find_exit_code, format_code_help
from aggopt.command.choose import run_choose
from aggopt.command.common_options import Commands
from aggopt.command.convert import run_convert
from aggopt.command.experiments import (
    run_compare_solvers,
    run_experiment,
    run_reproduce,
    run_sweep,
)
from aggopt.command.export import run_export, run_import_solution
from aggopt.command.interrupt import EXIT, NO_RELEASE, interrupts, monitor_signals
from aggopt.command.log import log
from aggopt.command.mask import EngineName, run_mask, run_repeat
from aggopt.command.report import run_report
from aggopt.command.standards import (
    Standards,
    judge_job_file,
    print_judgements,
    read_guidelines,
    run_evidence,
)
from aggopt.core.error_explanation import explain_error
from aggopt.core.plugins.loading import is_code_file
from aggopt.errors import AggoptError, JobError

app = Commands(
    help="Mask microdata by microaggregation: similar records are grouped, at least "
    "k each, and one value per group is published.\n\nStart with `aggopt demo`, or "
    "with `aggopt init TABLE`, which writes a commented job to edit.\n\n"
    + format_code_help(),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"aggopt {__version__}")
        raise typer.Exit


@app.callback()
def _add_global_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None: ...


app.command("mask")(run_mask)
app.command("repeat")(run_repeat)
app.command("convert")(run_convert)


@app.command()
def init(
    table: TableOrFolder,
    out: Annotated[Path, typer.Option(help="The file for the job.")] = Path("job.toml"),
    separator: Annotated[
        str | None,
        typer.Option(
            help='The separator of a CSV file, such as ";". By default aggopt '
            "detects it."
        ),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(
            help='The decimal point of a CSV file, "." or ",". By default aggopt '
            "detects it."
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a commented job for TABLE, which you edit.

    aggopt proposes a role for each column, with its reason, and the separator and the
    decimal point of a CSV file.  Decisions that the table leaves open
    are yours.
    """
    from aggopt.inspection.draft import propose_job
    from aggopt.release.files.staging import Staging, check_places

    check_places(out, overwrite=overwrite, inputs=(table,))
    with console.track_progress(quiet=as_json):
        proposed = propose_job(table, out, separator, decimal, encoding)
    with Staging() as staging:
        staging.write(out, lambda to: to.write_text(proposed.text, encoding="utf-8"))
        with interrupts.announce_result(f"{out.name} is written"):
            staging.commit(out, public=out, overwrite=overwrite)
    show.print_draft(table, out, proposed, as_json=as_json)


@app.command()
def check(
    table: TableOrCode,
    trust: Trust,
    standard: Standards,
    job: JobIfTable = None,
    as_json: AsJson = False,
    engine: EngineName = None,
) -> None:
    """Check whether `aggopt mask TABLE JOB` would begin, and list all that prevents it.

    It prints a line for each column, each obstacle with its remedy, and notes.  It
    writes nothing.  The exit code is 0 if mask would begin, and otherwise the one that
    mask would end with.  If TABLE is a folder or a pattern of Parquet files, it reads
    only categories, and it estimates the memory, the disk space and the processor time
    of a run.

    With --standard it also prints what a guideline requires, what the job does about
    it, and what a person must still decide.  The exit code is then 1 if mask would
    begin, and the job misses a criterion that figures decide.

    `aggopt check FILE.py[:NAME]` checks your own code: whether its models,
    partitioners, measures, ... obey the laws of their kinds.  It runs the file.  The
    exit code is 0 if no law is broken, and 1 if one is.
    """
    if is_code_file(str(table)):
        _check_code(str(table), job, as_json=as_json, standards=standard)
        return
    from aggopt.command.show_check import print_check
    from aggopt.inspection.check import check_table
    from aggopt.inspection.check_parts import check_folder, is_for_engine

    job_file = require_job(job)
    guidelines = read_guidelines(standard)
    with console.track_progress(quiet=as_json):
        if is_for_engine(table, job_file, engine):
            result = check_folder(table, job_file, engine, trust)
        else:
            result = check_table(table, job_file, trust)
    judgements = judge_job_file(job_file, guidelines, trust)
    if as_json:
        judged = {"standards": [judgement.to_dict() for judgement in judgements]}
        console.print_json({**result.to_dict(), **(judged if guidelines else {})})
    else:
        print_check(result)
        print_judgements(judgements)
    code = result.code or (
        NO if any(judgement.missed for judgement in judgements) else 0
    )
    if code:
        raise typer.Exit(code)


def _check_code(
    name: str, job: Path | None, *, as_json: bool, standards: Sequence[str]
) -> None:
    from aggopt.command.check_code import check_code_file, print_laws

    require_no_job(job)
    if standards:
        raise JobError(
            "--standard judges a job, and a file of code has none.",
            fix="write aggopt check TABLE JOB --standard NAME.",
        )
    with console.track_progress(quiet=as_json):
        result = check_code_file(name)
    if as_json:
        console.print_json(result.to_dict())
    else:
        print_laws(result)
    if result.broken:
        raise typer.Exit(NO)


@app.command()
def solvers(as_json: AsJson = False) -> None:
    """List the solvers: the programs each solves, and how to install it."""
    from aggopt.solvers import SOLVERS

    if as_json:
        console.print_json(
            {name: show_experiments.describe_solver(s) for name, s in SOLVERS.items()}
        )
    else:
        show_experiments.print_solvers(list(SOLVERS.values()))


app.command("assess")(run_assess)
app.command("risk")(run_risk)
app.command("utility")(run_utility)
app.command("compare")(run_compare)
app.command("report")(run_report)
app.command("evidence")(run_evidence)
app.command("compare-solvers")(run_compare_solvers)
app.command("sweep")(run_sweep)
app.command("choose")(run_choose)
app.command("experiment")(run_experiment)
app.command("reproduce")(run_reproduce)
app.command("export")(run_export)
app.command("import-solution")(run_import_solution)
app.command("app")(run_page_command)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="The folder for the files.")] = Path(
        "aggopt-demo"
    ),
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Mask 442 real patients, and compare risk and loss before and after."""
    from aggopt.command.demo import run_demo

    with console.track_progress(quiet=as_json) as report:
        shown = run_demo(folder, report, overwrite=overwrite)
    if as_json:
        console.print_json(shown.to_dict())
    else:
        show.print_demo(shown)


@app.command("warm-up")
def warm_up(as_json: AsJson = False) -> None:
    """Compile the loops of all methods, once per machine, in two processes.

    Without it, each method compiles its loops when it is first used.  Loops that are
    compiled already are kept.
    """
    from aggopt.command.warm_up import compile_kernels, find_other_cache

    interrupts.outcome = "what was compiled is kept"
    kernels = 0
    with console.track_progress(quiet=as_json) as on_progress:
        for share, name, count in compile_kernels():
            kernels += count
            on_progress(name, share)
    show.print_warm_up(kernels, find_other_cache(), as_json=as_json)


def run_app() -> None:
    """Run the command; turn an error into a message and an exit code."""
    code = _get_exit_code(_run_command)
    interrupts.forget_signals()
    sys.exit(code)


def _run_command() -> int:
    """Run the command with signal handlers; return its exit code."""
    interrupts.register_handlers()
    with monitor_signals(interrupts.handled_at, interrupts.exit_by_lost_signal):
        interrupts.outcome = NO_RELEASE
        code = _get_exit_code(_call_app)
        log.close(code)
    return code


def _call_app() -> int:
    code: int = app(standalone_mode=False) or 0
    if interrupts.ending:  # what its handler raised was lost
        sys.exit(BY_SIGNAL + interrupts.ending)
    if code == EXIT or interrupts.count:
        return _report_signal()
    return code


def _get_exit_code(work: Callable[[], int]) -> int:
    """Return the exit code of work; report its error."""
    try:
        return work()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
        if code > BY_SIGNAL:
            name = Signals(code - BY_SIGNAL).name
            _report_refusal(code, f"Ended by {name}.", _get_advice())
    except Exception as error:  # outermost: a traceback may quote records
        if interrupts.is_done:  # an exit code of a failure would deny the files
            console.report_unprinted(error)
            return DONE
        if not isinstance(error, AggoptError) and (
            interrupts.count or interrupts.ending
        ):
            return _report_signal()  # a library made an error of what ended its work
        code = find_exit_code(error)
        if hasattr(error, "format_message"):  # of the words on the command line
            code = JobError.exit_code
        _report_refusal(code, *_explain(error))
    return code


def _report_signal() -> int:
    """Report the signal that ended the work; return its exit code."""
    if interrupts.ending:
        code = BY_SIGNAL + interrupts.ending
        _report_refusal(
            code, f"Ended by {Signals(interrupts.ending).name}.", _get_advice()
        )
        return code
    _report_refusal(EXIT, "Interrupted.", _get_advice())
    return EXIT


def _explain(error: Exception) -> tuple[str, str]:
    """Return an error's problem and fix: the help, if arguments are wrong."""
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        command_name = "aggopt" if context is None else context.command_path
        return error.format_message(), f"see {command_name} --help."
    return explain_error(error)


def _get_advice() -> str:
    """Return the remedy after an interrupt or a defect."""
    return interrupts.advice or f"run it again; {interrupts.outcome}."


def _report_refusal(code: int, problem: str, fix: str) -> None:
    log.close(code, problem, fix)
    if "--json" in sys.argv:
        console.print_json({"error": problem, "fix": fix, "exit": code})
    else:
        console.print_error(problem, fix)
