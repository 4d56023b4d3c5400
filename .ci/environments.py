"""Try the wheel of aggopt in new environments outside the checkout.

Usage: python .ci/environments.py [oldest] [python] [newest] [dist]

oldest: the lowest versions that pyproject.toml allows, with Python 3.11
python: the versions of the lock, with the newest Python of this machine
newest: the newest version of every package, without the exclusions of pyproject.toml
dist: builds wheel and source archive in dist/, and tries each with the lock

Each environment runs the demo and the tests marked smoke.  The exit code is 1 if one
of them fails.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / ".ci" / "lock"
DIST = ROOT / "dist"
VERSIONS = ("3.13", "3.12")  # newer than the lowest; the lock is made for no others
EXTRAS = ("app", "dask", "data", "excel", "polars", "stats", "pounce", "ripopt", "scip")


def run(*words: str | Path, folder: Path = ROOT, **variables: str) -> bool:
    """Run a command and return whether it succeeded."""
    known = {**os.environ, **variables}
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "AGGOPT_REQUIRE_IPOPT"):
        known.pop(name, None)
    print("$", *words, flush=True)
    return subprocess.run([*map(str, words)], cwd=folder, env=known).returncode == 0


def interpreters(version: str) -> Iterator[str]:
    """Yield where a Python of this version may be, of those that start."""
    candidates = [sys.executable, shutil.which(f"python{version}")]
    if pyenv := shutil.which("pyenv"):
        words = [pyenv, "root"]
        root = subprocess.run(words, stdout=subprocess.PIPE, text=True).stdout.strip()
        places = Path(root, "versions").glob(f"{version}.*/bin/python{version}")
        candidates += map(str, sorted(places))
    code = "import sys, venv, ssl; print('%d.%d' % sys.version_info[:2])"
    for candidate in filter(None, candidates):
        ended = subprocess.run([candidate, "-c", code], capture_output=True, text=True)
        if ended.stdout.strip() == version:
            yield candidate


def newest_python() -> str | None:
    """Return the newest Python that starts, or None."""
    found = (place for version in VERSIONS for place in interpreters(version))
    return next(found, None)


def pip_install(python: Path, *words: str | Path) -> bool:
    """Install packages that have wheels."""
    uv = (sys.executable, "-m", "uv", "--no-config", "pip", "install", "--quiet")
    return run(*uv, "--python", python, "--only-binary", ":all:", *words)


def install_locked(python: Path, *files: str) -> bool:
    """Install what files of the lock name."""
    words = [each for file in files for each in ("-r", LOCK / f"{file}.txt")]
    return pip_install(python, "--no-deps", "--require-hashes", *words)


def install_newest(python: Path, wheel: Path, folder: Path) -> bool:
    """Install the newest of everything."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    allowed = [re.sub(r",?\s*(!=|<=?)\s*[\w.*]+", "", line) for line in lines]
    overrides = folder / "overrides.txt"
    overrides.write_text("\n".join(allowed), "utf-8")
    group = f"{ROOT / 'pyproject.toml'}:test"
    return pip_install(
        python,
        *("--upgrade", "--overrides", overrides, "--group", group),
        f"{wheel}[{','.join(EXTRAS)}]",
    )


def install_package(python: Path, package: Path) -> bool:
    """Install a wheel, or build one from a source archive, without dependencies."""
    if package.suffix == ".whl":
        return pip_install(python, "--no-deps", package)
    uv = (sys.executable, "-m", "uv", "--no-config", "pip", "install", "--quiet")
    options = ("--python", python, "--no-deps", "--no-build-isolation")
    return run(*uv, *options, package)


def build_dist() -> dict[str, Path]:
    """Return the wheel and the source archive of this version, built in dist/."""
    shutil.rmtree(DIST, ignore_errors=True)
    build = (sys.executable, "-m", "uv", "--no-config", "build", "--quiet")
    if not run(*build, "--no-build-isolation", "--out-dir", DIST, ROOT):
        sys.exit("Wheel and source archive cannot be built.")
    (wheel,) = DIST.glob("*.whl")
    (archive,) = DIST.glob("*.tar.gz")
    return {"wheel": wheel, "archive": archive}


def passes(name: str, folder: Path, package: Path) -> bool:
    """Return whether an environment is built and its demo and tests succeed."""
    if name == "python":
        base = newest_python()
    else:
        base = next(interpreters("3.11"), None) if name == "oldest" else sys.executable
    if base is None:
        wanted = " or ".join(VERSIONS) if name == "python" else "3.11"
        print(f"Skipped: no Python {wanted} starts on this machine.")
        return True
    environment = folder / name
    binary = environment / "bin"
    python = binary / "python"
    work = folder / f"{name}-work"
    work.mkdir()
    if not run(sys.executable, "-m", "uv", "--quiet", "venv", "-p", base, environment):
        return False
    if name == "newest":
        built = install_newest(python, package, folder)
        list_changes(python)
    else:
        files = ("oldest",) if name == "oldest" else ("all", "pounce", "ripopt", "scip")
        built = install_locked(python, *files) and install_package(python, package)
    caches = {"NUMBA_CACHE_DIR": "kernels", "PYTHONPYCACHEPREFIX": "bytecode"}
    cache = {key: str(folder / f"{name}-{each}") for key, each in caches.items()}
    # versions that are not locked may warn of what is to come
    tests = ("-c", ROOT / "pyproject.toml", "-o", "filterwarnings=default")
    tests += ("-m", "smoke", "-p", "touched", "-p", "no:cacheprovider", "-q")
    return (
        built
        and run(binary / "aggopt", "demo", folder=work, **cache)
        and run(binary / "pytest", *tests, *marked_files(), folder=work, **cache)
    )


def list_changes(python: Path) -> None:
    """Print the packages whose versions differ from those of the lock."""
    words = ("uv", "--no-config", "pip", "freeze", "--python", str(python))
    ended = subprocess.run(
        [sys.executable, "-m", *words], stdout=subprocess.PIPE, text=True
    )
    locked: dict[str, set[str]] = {}
    for file in LOCK.glob("*.txt"):
        if file.stem != "oldest":
            pinned = re.findall(r"^([\w.-]+)==(\S+)", file.read_text("utf-8"), re.M)
            for name, version in pinned:
                locked.setdefault(name, set()).add(version)
    print("Other versions than in the lock:")
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", ended.stdout, re.M):
        if version not in locked.get(name, {version}):
            print(f"  {name} {version} (locked: {', '.join(sorted(locked[name]))})")


def marked_files() -> list[Path]:
    """Return the files with tests marked smoke: to collect all would take minutes."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [file for file in files if "mark.smoke" in file.read_text("utf-8")]


def main() -> None:
    """Try the environments that are named."""
    names = sys.argv[1:] or ["oldest", "python"]
    with TemporaryDirectory() as place:
        folder = Path(place)
        if names == ["dist"]:
            built = build_dist().items()
            failed = [name for name, file in built if not passes(name, folder, file)]
            sys.exit(f"Failed in: {', '.join(failed)}" if failed else 0)
        build = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps")
        if not run(*build, "--no-build-isolation", "-w", folder, ROOT):
            sys.exit("The wheel cannot be built.")
        (wheel,) = folder.glob("*.whl")
        failed = [name for name in names if not passes(name, folder, wheel)]
    sys.exit(f"Failed in: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
