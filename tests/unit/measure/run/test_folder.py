from pathlib import Path

import pytest

from fakes import runs
from isthmus.errors import UsageError
from isthmus.measure.run.folder import FileKind, Unreadable, files_of, read_runs
from isthmus.measure.run.store import run_text, save_run


def written(path: Path, text: str = "{}") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_a_node_is_named_by_its_file_or_by_its_folder(tmp_path: Path) -> None:
    for name in ("n1.json", "n2/a.json", "rack/n3/b.json", "n1.doctor.json", "n2/doctor.json"):
        written(tmp_path / name)
    written(tmp_path / "n4.attempt.json")
    assert [(file.node, file.kind) for file in files_of(tmp_path)] == [
        ("n1", FileKind.DIAGNOSIS),
        ("n1", FileKind.RUN),
        ("n2", FileKind.RUN),
        ("n2", FileKind.DIAGNOSIS),
        ("n4", FileKind.ATTEMPT),
        ("rack/n3", FileKind.RUN),
    ]


def test_a_kept_run_names_no_node(tmp_path: Path) -> None:
    save_run(runs.run(), tmp_path)
    (file,) = files_of(tmp_path)
    assert file.node is None


def test_what_is_hidden_or_no_run_is_left_out_and_so_is_a_journal_beside_its_run(
    tmp_path: Path,
) -> None:
    for name in (".n1.json", ".git/n2.json", "notes.txt", "n3.json", "n3.journal", "n4.journal"):
        written(tmp_path / name)
    found = [(file.path.name, file.kind) for file in files_of(tmp_path)]
    assert found == [("n3.json", FileKind.RUN), ("n4.journal", FileKind.UNFINISHED)]


def test_what_cannot_be_read_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    written(tmp_path / "bad.json", "{")
    written(tmp_path / "good.json", run_text(runs.run()))
    written(tmp_path / "old.json", '{"schema_version": 0, "results": []}')
    (tmp_path / "pipe.json").symlink_to("/dev/zero")
    said = [
        found.why if isinstance(found, Unreadable) else found[0].node
        for found in read_runs(files_of(tmp_path))
    ]
    assert said[1] == "good"
    assert "bad.json is not a run: it isn't JSON" in str(said[0])
    assert "old.json is of schema 0" in str(said[2])
    assert "it is not a regular file" in str(said[3])


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"can't read the folder .*nothing: No such file"):
        files_of(tmp_path / "nothing")
    with pytest.raises(UsageError, match="Not a directory"):
        files_of(written(tmp_path / "run.json"))
