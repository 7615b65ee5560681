"""docs/reliability.md says how much was run: of this code, not of an older one."""

import re
import shutil
import subprocess
from datetime import date, timedelta
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reliability.md"
CODE = ("cpp/include", "cpp/src", "bindings", "kernels", "python/isthmus")
# As long as a version takes from its last change to the runs that release it.
MOST = timedelta(days=7)


def day_of_run(page: str) -> date:
    found = re.search(r"^Run on (\d{4}-\d\d-\d\d)", page, re.MULTILINE)
    assert found, "docs/reliability.md doesn't say when its checks were run"
    return date.fromisoformat(found[1])


def is_too_old(page: str, changed: date) -> bool:
    return changed - day_of_run(page) > MOST


def test_what_was_run_is_at_most_a_week_older_than_the_code_it_speaks_of() -> None:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nothing says when the code was changed")
    command = [git, "log", "-1", "--format=%cs", "--", *CODE]
    last = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert not is_too_old(PAGE.read_text(encoding="utf-8"), date.fromisoformat(last.strip())), (
        f"docs/reliability.md was run before the code's last change of {last.strip()}: run its "
        "checks again, and write down what they found"
    )


@pytest.mark.parametrize(("changed", "too_old"), [("2026-11-29", False), ("2026-11-30", True)])
def test_a_page_of_eight_days_before_is_too_old(changed: str, too_old: bool) -> None:
    page = "## How much was run\n\nRun on 2026-11-22, with this version.\n"
    assert is_too_old(page, date.fromisoformat(changed)) is too_old
