"""The documentation as a site, opened from disk in a real browser."""

import os
import shutil
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from browsing import PHONE, complaints, does_not_scroll_sideways, opened, shown
from program import run_process

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
WIDE = 1440


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, where `make docs` has installed what that takes."""
    own = ROOT / ".venv" / "bin" / "mkdocs"
    mkdocs = os.environ.get("MKDOCS") or (str(own) if own.exists() else shutil.which("mkdocs"))
    if mkdocs is None:
        pytest.skip("no MkDocs: make docs")
    folder = tmp_path_factory.mktemp("site")
    command = [mkdocs, "build", "--quiet", "-f", str(ROOT / "mkdocs.yml"), "-d", str(folder)]
    done = run_process(command, {"NO_MKDOCS_2_WARNING": "1"}, max_seconds=120)
    assert done.code == 0, done.err
    return folder


@pytest.mark.parametrize("width", [PHONE, WIDE])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_no_page_is_wider_than_its_window(
    browser: Chrome, site: Path, width: int, colours: str
) -> None:
    pages = [path for path in site.rglob("*.html") if path.parent.name != "reports"]
    assert len(pages) > 20
    for page in pages:
        opened(browser, page.as_uri(), width, colours)
        assert does_not_scroll_sideways(browser), page.name
    complaints(browser)


def test_the_toggle_changes_the_colours(browser: Chrome, site: Path) -> None:
    opened(browser, (site / "copy.html").as_uri(), WIDE)
    shown(browser, "form[data-md-component=palette] label")[0].click()
    scheme = browser.find_element(By.TAG_NAME, "body").get_attribute("data-md-color-scheme")
    assert scheme == "slate"
    assert complaints(browser) == []


def test_the_search_finds_users_pages_before_decisions(browser: Chrome, site: Path) -> None:
    opened(browser, (site / "copy.html").as_uri(), WIDE)
    field = browser.find_element(By.CSS_SELECTOR, ".md-search__input")
    field.click()
    field.send_keys("budget")
    links = WebDriverWait(browser, 20, 0.05).until(
        lambda _: browser.find_elements(By.CSS_SELECTOR, ".md-search-result__link")
    )
    assert "paged.html" in str(links[0].get_attribute("href"))


def test_the_site_has_no_compiled_code(site: Path) -> None:
    assert not list(site.rglob("__pycache__"))
