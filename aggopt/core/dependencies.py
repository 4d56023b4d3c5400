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
    wanted = _plain(module or "")
    found = []
    for each in declared:
        extra = _extra(str(each.marker or ""))
        if each.marker and not each.marker.evaluate({"extra": extra or ""}):
            continue
        version = installed_version(each.name)
        if version is None and extra is not None and _plain(each.name) != wanted:
            continue
        if version is None or not each.specifier.contains(version, prereleases=True):
            found.append(Misfit(each.name, version, str(each.specifier), extra))
    return found


def explain_misfits(error: ImportError) -> tuple[str, str] | None:
    """Return the problem and its fix, if a required package does not fit.

    An `ImportError` holds no record: its message is shown in full.
    """
    try:
        found = find_misfits((error.name or "").partition(".")[0])
    except ImportError:  # of packaging itself
        return f"{error}.", f"pip install --upgrade {PACKAGE}."
    if not found:
        return None
    return f"{error}. {describe_misfits(found)}", install_command(found)


def describe_misfits(found: Iterable[Misfit]) -> str:
    """Return the versions that are installed and needed, as a sentence."""
    return "; ".join(map(str, found)) + "."


def install_command(found: Iterable[Misfit]) -> str:
    """Return the command that installs the required packages."""
    words = " ".join(f"'{each.name}{each.needed}'" for each in found)
    return f"pip install {words}"


def installed_version(name: str) -> str | None:
    """Return the version of a package, by the name that pip has; None without."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def package_versions(modules: Iterable[str]) -> dict[str, str]:
    """Return the version of the package of each module that is installed, by name."""
    names = [name for module in modules for name in _packages().get(module, [])]
    return {name: metadata.version(name) for name in dict.fromkeys(names)}


@cache
def _packages() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


def _extra(marker: str) -> str | None:
    found = re.search(r"""extra == ["']([\w.-]+)["']""", marker)
    return found[1] if found else None


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
