"""Where files may be written, and that what has a name is on the disk."""

import os
import stat

import pytest
from refusals import refused

from aggopt.core.stale_files import make_file_prefix
from aggopt.errors import TableError
from aggopt.release.files import staging
from aggopt.release.files.staging import Staging, check_places


def test_a_plain_file_may_be_overwritten_where_that_is_allowed(tmp_path):
    there = tmp_path / "there.csv"
    there.touch()
    check_places(there, tmp_path / "new.csv", overwrite=True)
    with refused(TableError, "there.csv"):
        check_places(tmp_path / "new.csv", there, overwrite=False)


@pytest.mark.parametrize("target", ["there.csv", "nowhere.csv"])
def test_a_link_is_never_written_to_wherever_it_leads(tmp_path, target):
    (tmp_path / "there.csv").touch()
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / target)
    for overwrite in (True, False):
        with refused(TableError, "link.csv"):
            check_places(link, overwrite=overwrite)


def test_an_input_is_not_written_over_by_another_name_of_it(tmp_path):
    table = tmp_path / "t.csv"
    table.touch()
    other = tmp_path / "." / "t.csv"
    with refused(TableError, "t.csv"):
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
        staging.remove_staged()
        assert not second.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o027, 0o077])
def test_the_public_file_gets_the_usual_mode_and_the_others_are_the_owners(
    tmp_path, mask
):
    public, private = tmp_path / "a.csv", tmp_path / "b.csv"
    before = os.umask(mask)
    try:
        with Staging() as aside:
            for final in (private, public):
                aside.write(final, lambda to: to.write_text("x"))
            aside.commit(private, public, public=public, overwrite=False)
        assert os.umask(mask) == mask  # looking at it changed nothing
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (public, private)]
    assert modes == [0o666 & ~mask, 0o600]


def test_what_is_aside_lies_beside_its_place_and_is_known_until_it_is_gone(tmp_path):
    with Staging() as aside:
        name = aside.write(tmp_path / "a.csv", lambda to: to.write_text("x"))
        assert (name.parent, name.suffix) == (tmp_path, ".csv")
        assert name.name.startswith(make_file_prefix())
        assert stat.S_IMODE(name.stat().st_mode) == 0o600
        assert name in staging._aside_now
    assert name not in staging._aside_now
    assert not name.exists()


def test_what_is_overwritten_has_a_second_name_beside_it_meanwhile(
    tmp_path, monkeypatch
):
    final, seen, rename = tmp_path / "a.csv", [], staging._rename_file

    def looking(*arguments, **options):
        seen.extend(path for path in tmp_path.iterdir() if path != final)
        rename(*arguments, **options)

    monkeypatch.setattr(staging, "_rename_file", looking)
    final.write_text("before")
    with Staging() as aside:
        aside.write(final, lambda to: to.write_text("after"))
        aside.commit(final, overwrite=True)
    second = [path.name for path in seen if path.name.startswith(".aggopt.before.")]
    assert len(second) == 1
    assert second[0].endswith(".csv")
    assert final.read_text() == "after"
    assert list(tmp_path.iterdir()) == [final]
