"""Processes that are begun find no file of the working directory."""

import os
import subprocess
import sys

from aggopt.core.parallel import NAME, exclude_working_directory


def test_the_environment_is_as_before_afterwards(monkeypatch):
    for before in (None, "", "yes"):
        monkeypatch.delenv(NAME, raising=False)
        if before is not None:
            monkeypatch.setenv(NAME, before)
        with exclude_working_directory():
            assert os.environ[NAME] == "1"
        assert os.environ.get(NAME) == before


def test_a_file_beside_the_data_is_not_imported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(NAME, raising=False)
    (tmp_path / "colorsys.py").write_text("raise SystemExit(7)")
    words = [sys.executable, "-S", "-c", "import colorsys"]
    assert subprocess.run(words, check=False).returncode == 7
    with exclude_working_directory():
        assert subprocess.run(words, check=False).returncode == 0
