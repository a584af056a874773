from __future__ import annotations

import pytest

from newfound.files import folder_atomically, write_atomically


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "f"
    write_atomically(path, b"old")

    def no_disk(*args):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", no_disk)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_folder_leaves_the_old_one(tmp_path):
    target = tmp_path / "model"
    with folder_atomically(target) as folder:
        (folder / "a").write_text("1")
    with pytest.raises(FileNotFoundError), folder_atomically(target) as folder:
        (folder / "no such folder" / "a").write_text("2")
    assert (target / "a").read_text() == "1"
    with folder_atomically(target) as folder:
        (folder / "b").write_text("3")
    assert [p.name for p in target.iterdir()] == ["b"]
    assert list(tmp_path.iterdir()) == [target]
