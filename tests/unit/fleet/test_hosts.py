from pathlib import Path

import pytest

from isthmus.errors import UsageError
from isthmus.fleet.nodes import read_hosts


def test_each_line_names_a_node_and_comments_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("n1\n\n# rack 2\nuser@n2.example  # the old one\n10.0.0.3\n")
    assert read_hosts(file) == ["n1", "user@n2.example", "10.0.0.3"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no host"),
        ("n1\nn1\n", "line 2 of .* names n1 again"),
        ("n1\nn 2\n", "line 2 of .* is no host: 'n 2'"),
        ("-oProxyCommand=x\n", "line 1 of .* is no host"),
        ("n1;reboot\n", "line 1 of .* is no host"),
        ("n1\n..\n", r"line 2 of .* is no host: '\.\.'"),
        ("root@..\n", "line 1 of .* is no host"),
        (".hidden\n", "line 1 of .* is no host"),
        ("../n1\n", "line 1 of .* is no host"),
        ("/n1\n", "line 1 of .* is no host"),
        ("root@\n", "line 1 of .* is no host"),
        ("root@-x\n", "line 1 of .* is no host"),
        ("n1\0\n", "line 1 of .* is no host"),
        ("n1\n\x1b[2Jn2\n", "line 2 of .* is no host"),
        ("n1\x0cn2\n", "line 1 of .* is no host"),
        (f"{'n' * 256}\n", "line 1 of .* is no host"),
        ("a@n1\nb@n1\n", "line 2 of .* names n1 again"),
    ],
)
def test_a_file_that_names_no_hosts_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "hosts"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_hosts(file)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_hosts(tmp_path / "hosts")
