"""Optimisation-centric microaggregation: `help(aggopt.mask)` is where to start.

Public names are looked up when they are first used, so that importing the package is
quick and imports no solver.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aggopt.core.version import __version__ as __version__

if TYPE_CHECKING:
    from aggopt import aggregate as aggregate
    from aggopt import checks as checks
    from aggopt import datasets as datasets
    from aggopt import encoding as encoding
    from aggopt import measure as measure
    from aggopt import missing as missing
    from aggopt import models as models
    from aggopt import partition as partition
    from aggopt import privacy as privacy
    from aggopt import repair as repair
    from aggopt import sklearn as sklearn
    from aggopt import solvers as solvers
    from aggopt.encoding import encode as encode
    from aggopt.engine.convert import convert as convert
    from aggopt.engine.folder_release import FolderRelease as FolderRelease
    from aggopt.engine.mask import mask as mask
    from aggopt.errors import AggoptError as AggoptError
    from aggopt.experiments.choose import choose as choose
    from aggopt.experiments.experiment import experiment as experiment
    from aggopt.job import Job as Job
    from aggopt.pipeline.programs.declare import adopt as adopt
    from aggopt.pipeline.programs.declare import declare as declare
    from aggopt.pipeline.programs.export import export as export
    from aggopt.pipeline.programs.export import import_solution as import_solution
    from aggopt.pipeline.review.repeat import repeat as repeat
    from aggopt.release.release import Release as Release

_FOLDERS = (
    "aggregate",
    "checks",
    "datasets",
    "encoding",
    "measure",
    "missing",
    "models",
    "partition",
    "privacy",
    "repair",
    "sklearn",
    "solvers",
)
_HOMES = {
    "AggoptError": "errors",
    "adopt": "pipeline.programs.declare",
    "declare": "pipeline.programs.declare",
    "FolderRelease": "engine.folder_release",
    "Job": "job",
    "Release": "release.release",
    "choose": "experiments.choose",
    "convert": "engine.convert",
    "encode": "encoding",
    "experiment": "experiments.experiment",
    "export": "pipeline.programs.export",
    "import_solution": "pipeline.programs.export",
    "mask": "engine.mask",
    "repeat": "pipeline.review.repeat",
}

__all__ = [
    "AggoptError",
    "FolderRelease",
    "Job",
    "Release",
    "adopt",
    "aggregate",
    "checks",
    "choose",
    "convert",
    "datasets",
    "declare",
    "encode",
    "encoding",
    "experiment",
    "export",
    "import_solution",
    "mask",
    "measure",
    "missing",
    "models",
    "partition",
    "privacy",
    "repair",
    "repeat",
    "sklearn",
    "solvers",
]


def __getattr__(name: str) -> Any:
    home = name if name in _FOLDERS else _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'aggopt' has no attribute {name!r}")
    try:
        module = import_module(f"aggopt.{home}")
    except ImportError as error:
        from aggopt.core.dependencies import explain_misfits

        if (explanation := explain_misfits(error)) is None:
            raise
        raise ImportError(
            "{}\nTo fix: {}".format(*explanation), name=error.name
        ) from error
    return module if name in _FOLDERS else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
