"""What the documentation shows is what the examples run."""

import re
import sys
from pathlib import Path

import pytest

from program import EMULATED, run_process

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
SUFFIXES = {"python": ".py", "cpp": ".cpp", "c": ".c"}


def shown_blocks() -> list[tuple[str, str, str]]:
    """List document, language and text of every block of code that is marked with a language."""
    fence = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [
        (str(path.relative_to(ROOT)), language, text)
        for path in documents
        for language, text in fence.findall(path.read_text("utf-8"))
    ]
    assert found, "no blocks of code: has the documentation moved?"
    return found


@pytest.mark.parametrize(("document", "language", "text"), shown_blocks())
def test_code_in_the_documentation_is_taken_from_an_example(
    document: str, language: str, text: str
) -> None:
    sources = [path.read_text("utf-8") for path in EXAMPLES.glob(f"*{SUFFIXES[language]}")]
    assert any(text in source for source in sources), f"{document} shows code of its own:\n{text}"


@pytest.mark.native
def test_the_window_example_reads_what_it_wrote() -> None:
    done = run_process([sys.executable, str(EXAMPLES / "window.py")], EMULATED)
    assert done.out.splitlines() == [
        "b'hello, GPU'",
        "1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0",
        "4096 bytes, by way of dmabuf",
    ]


@pytest.mark.native
def test_the_copy_example_brings_back_what_it_sent() -> None:
    done = run_process([sys.executable, str(EXAMPLES / "copy.py")], EMULATED)
    assert (done.out.splitlines(), done.err) == (
        ["True", "328350.0", "pageable to device", "4"],
        "",
    )


@pytest.mark.native
def test_the_example_of_many_copies_copies_all() -> None:
    done = run_process([sys.executable, str(EXAMPLES / "state_dict.py")], EMULATED)
    assert (done.out, done.err) == ("512.0\n", "")


@pytest.mark.native
def test_the_example_of_an_event_goes_on_and_arrives() -> None:
    done = run_process([sys.executable, str(EXAMPLES / "event.py")], EMULATED)
    assert (done.out, done.err) == ("arrived\n1000.0\n", "")
