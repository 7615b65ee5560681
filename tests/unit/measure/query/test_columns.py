import re
from pathlib import Path

import pytest

from isthmus.measure.query.columns import VIEWS

_PAGE = Path(__file__).parents[4] / "docs" / "fleet.md"


@pytest.mark.parametrize("view", VIEWS)
def test_the_page_about_fleets_lists_every_column_of_a_view(view: str) -> None:
    before, _, after = _PAGE.read_text("utf-8").partition(f"### {view}\n")
    own = after.partition("\n### ")[0]
    shared = before.partition("Every view begins with these columns:")[2].partition("###")[0]
    listed = [
        row
        for part in (shared, own)
        for row in re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", part, re.MULTILINE)
    ]
    assert listed == [(one.name, one.type, one.about) for one in VIEWS[view]]
