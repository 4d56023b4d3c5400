"""Versions of the packages that aggopt needs, as installed and as declared.

Only the standard library is imported on top: this is used when others cannot be.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import metadata

PACKAGE = "aggopt"


@dataclass(frozen=True)
class Misfit:
    """A declared package that is missing, or installed in a version that is excluded.

    `version` is None if the package is missing.  `extra` is the extra that requires it,
    if no installation without extras does.
    """

    name: str
    version: str | None
    needed: str
    extra: str | None = None

    def __str__(self) -> str:
        """Return both versions in words."""
        here = "is not installed" if self.version is None else "is installed"
        name = self.name if self.version is None else f"{self.name} {self.version}"
        by = PACKAGE if self.extra is None else f"{PACKAGE}[{self.extra}]"
        return f"{name} {here}; {by} needs {self.name}{self.needed}"


def find_misfits(module: str | None = None) -> list[Misfit]:
    """Return the declared packages that do not fit.

    A package of an extra counts if it is installed, or if it has `module`.
    """
    from packaging.requirements import Requirement

    try:
        declared = [Requirement(text) for text in metadata.requires(PACKAGE) or ()]
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        return []
    wanted = _normalise_name(module or "")
    misfits = []
    for requirement in declared:
        extra = _read_extra(str(requirement.marker or ""))
        if requirement.marker and not requirement.marker.evaluate(
            {"extra": extra or ""}
        ):
            continue
        version = find_installed_version(requirement.name)
        if (
            version is None
            and extra is not None
            and _normalise_name(requirement.name) != wanted
        ):
            continue
        if version is None or not requirement.specifier.contains(
            version, prereleases=True
        ):
            misfits.append(
                Misfit(requirement.name, version, str(requirement.specifier), extra)
            )
    return misfits


def explain_misfits(error: ImportError) -> tuple[str, str] | None:
    """Return the problem and its fix, if a required package does not fit.

    An `ImportError` holds no record: its message is shown in full.
    """
    try:
        misfits = find_misfits((error.name or "").partition(".")[0])
    except ImportError:  # of packaging itself
        return f"{error}.", f"pip install --upgrade {PACKAGE}."
    if not misfits:
        return None
    return f"{error}. {describe_misfits(misfits)}", install_command(misfits)


def describe_misfits(misfits: Iterable[Misfit]) -> str:
    """Return the versions that are installed and needed, as a sentence."""
    return "; ".join(map(str, misfits)) + "."


def install_command(misfits: Iterable[Misfit]) -> str:
    """Return the command that installs the required packages."""
    words = " ".join(f"'{misfit.name}{misfit.needed}'" for misfit in misfits)
    return f"pip install {words}"


def find_installed_version(name: str) -> str | None:
    """Return the version of a package, by the name that pip has; None without."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def find_package_versions(modules: Iterable[str]) -> dict[str, str]:
    """Return the version of the package of each module that is installed, by name."""
    names = [name for module in modules for name in _list_packages().get(module, [])]
    return {name: metadata.version(name) for name in dict.fromkeys(names)}


@cache
def _list_packages() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


def _read_extra(marker: str) -> str | None:
    match = re.search(r"""extra == ["']([\w.-]+)["']""", marker)
    return match[1] if match else None


def _normalise_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
