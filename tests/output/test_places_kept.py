"""Where files may be written, and that what has a name is on the disk."""

import os
import stat

import pytest

from aggopt.errors import TableError
from aggopt.output import staging
from aggopt.output.staging import Staging, check_places


def test_a_plain_file_may_be_overwritten_where_that_is_allowed(tmp_path):
    there = tmp_path / "there.csv"
    there.touch()
    check_places(there, tmp_path / "new.csv", overwrite=True)
    with pytest.raises(TableError, match=r"there\.csv would be overwritten"):
        check_places(tmp_path / "new.csv", there, overwrite=False)


@pytest.mark.parametrize("target", ["there.csv", "nowhere.csv"])
def test_a_link_is_never_written_to_wherever_it_leads(tmp_path, target):
    (tmp_path / "there.csv").touch()
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / target)
    for overwrite in (True, False):
        with pytest.raises(TableError, match=r"link\.csv is a folder, a link or a dev"):
            check_places(link, overwrite=overwrite)


def test_an_input_is_not_written_over_by_another_name_of_it(tmp_path):
    table = tmp_path / "t.csv"
    table.touch()
    other = tmp_path / "." / "t.csv"
    with pytest.raises(TableError, match=r"t\.csv would be written over the input"):
        check_places(tmp_path / "a.csv", other, overwrite=True, inputs=(table,))


@pytest.mark.skipif(os.name != "posix", reason="folders are synced where that can be")
def test_files_and_then_their_folder_are_synced(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync

    def recorded(handle):
        synced.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", recorded)
    finals = [tmp_path / "a.csv", tmp_path / "b.csv"]
    with Staging() as aside:
        for final in finals:
            aside.write(final, lambda to: to.write_text("x"))
        aside.commit(*finals, overwrite=False)
    assert synced == [False, False, True]
    assert [final.read_text() for final in finals] == ["x", "x"]


def test_what_is_aside_can_be_removed_at_once_although_some_of_it_is_gone(tmp_path):
    with Staging() as aside:
        first, second = (
            aside.write(tmp_path / name, lambda to: to.write_text("x"))
            for name in ("a.csv", "b.csv")
        )
        first.unlink()
        staging.remove_all()
        assert not second.exists()
    assert list(tmp_path.iterdir()) == []
