"""What a dependency lacks is said with both versions and the command that mends it."""

import json
import os
import subprocess
import sys
from importlib import metadata

import pytest

from aggopt.core import dependencies


@pytest.fixture
def old(tmp_path):
    """Return a folder with a narwhals that is too old, and lacks what is imported."""
    (tmp_path / "narwhals").mkdir()
    (tmp_path / "narwhals" / "__init__.py").touch()
    facts = tmp_path / "narwhals-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: narwhals\nVersion: 0.1.0\n"
    )
    return tmp_path


def run(folder, *words):
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.smoke
def test_a_package_that_is_too_old_is_named_by_the_command(old):
    (needed,) = [t for t in metadata.requires("aggopt") if t.startswith("narwhals")]
    ended = run(old, "-m", "aggopt", "demo", "--json")
    said = json.loads(ended.stdout)
    assert ended.returncode == said["exit"] == 5
    assert "No module named 'narwhals." in said["error"]
    assert f"narwhals 0.1.0 is installed; aggopt needs {needed}." in said["error"]
    assert said["fix"].startswith("pip install '")
    assert f"'{needed}'" in said["fix"]  # the newest of others may not fit, too


def test_a_package_that_is_too_old_is_named_by_the_package(old):
    ended = run(old, "-c", "import aggopt; aggopt.mask")
    last = ended.stderr.splitlines()[-2:]
    assert "narwhals 0.1.0 is installed; aggopt needs narwhals>=" in last[0]
    assert last[1].startswith("To fix: pip install 'narwhals>=")


DECLARED = [
    "absent>=2",
    "numpy>=1",
    'also-absent>=3; extra == "more"',
    'numpy>=10000; extra == "more"',
]


def test_extras_count_if_they_are_installed_or_asked_for(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: DECLARED)
    here = metadata.version("numpy")
    expected = [
        "absent is not installed; aggopt needs absent>=2",
        f"numpy {here} is installed; aggopt[more] needs numpy>=10000",
    ]
    assert [*map(str, dependencies.find_misfits())] == expected
    asked = dependencies.find_misfits("also_absent")
    expected.insert(
        1, "also-absent is not installed; aggopt[more] needs also-absent>=3"
    )
    assert [*map(str, asked)] == expected


def test_this_environment_fits():
    assert dependencies.find_misfits() == []
    assert dependencies.explain_misfits(ImportError("no such name")) is None
