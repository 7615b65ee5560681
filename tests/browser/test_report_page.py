"""A report, opened and clicked through."""

import csv
from pathlib import Path

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By

from browsing import (
    COLOURS,
    DESKTOP,
    PHONE,
    SMALLEST,
    arrived,
    complaints,
    contrast,
    does_not_scroll_sideways,
    opened,
    shown,
    unfold,
)

pytestmark = pytest.mark.long


@pytest.mark.parametrize("width", [DESKTOP, PHONE, SMALLEST])
def test_a_page_has_no_error_shows_every_picture_and_never_scrolls_sideways(
    browser: Chrome, page: str, width: int
) -> None:
    opened(browser, page, width)
    unfold(browser)
    assert complaints(browser) == []
    figures = browser.find_elements(By.TAG_NAME, "figure")
    pictures = shown(browser, "figure svg")
    assert len(figures) == len(pictures) > 10
    for picture in pictures:
        assert picture.size["width"] > 100
        assert picture.find_elements(By.CSS_SELECTOR, "path, line")
    assert does_not_scroll_sideways(browser)


def test_a_click_opens_the_numbers_of_a_chapter(browser: Chrome, page: str) -> None:
    opened(browser, page)
    assert shown(browser, "#bandwidth table") == []
    browser.find_element(By.CSS_SELECTOR, "#bandwidth .tables summary").click()
    [table, *_] = shown(browser, "#bandwidth table")
    assert "54.77" in table.text


def test_a_picture_is_saved_as_numbers_as_svg_and_as_png(
    browser: Chrome, page: str, downloads: Path
) -> None:
    opened(browser, page)
    figure = browser.find_element(By.ID, "bandwidth-first-1")
    for button in figure.find_elements(By.TAG_NAME, "button"):
        button.click()
    rows = list(
        csv.DictReader(arrived(browser, downloads, "bandwidth-first-1.csv").decode().splitlines())
    )
    at_1_gib = {row["what"]: float(row["value"]) for row in rows if row["bytes"] == str(1 << 30)}
    assert at_1_gib == {"pinned": pytest.approx(53.85, 1e-3), "pageable": pytest.approx(6.94, 1e-2)}
    svg = arrived(browser, downloads, "bandwidth-first-1.svg").decode()
    assert "Bandwidth by kind of memory: H2D" in svg
    assert "run c5070c5b" in svg
    assert "var(" not in svg
    assert arrived(browser, downloads, "bandwidth-first-1.png").startswith(b"\x89PNG")
    assert complaints(browser) == []


def test_a_table_is_saved_with_the_cells_it_shows(
    browser: Chrome, page: str, downloads: Path
) -> None:
    opened(browser, page)
    browser.find_element(By.CSS_SELECTOR, "#bandwidth .tables summary").click()
    [button, *_] = shown(browser, "#bandwidth .caption button")
    button.click()
    head, *rows = csv.reader(
        arrived(browser, downloads, "bandwidth-table-1.csv").decode().splitlines()
    )
    assert head == ["size", "H2D pinned", "H2D pageable"]
    assert ["1 GiB", "53.85", "6.94"] in rows


def test_the_keyboard_reaches_every_control_and_opens_what_is_folded(
    browser: Chrome, page: str
) -> None:
    opened(browser, page)
    wanted = browser.execute_script(
        "return [...document.querySelectorAll('a, summary, button')]"
        ".filter((one) => one.checkVisibility()).length"
    )
    reached = set()
    for _ in range(wanted):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(browser.switch_to.active_element.id)
    assert len(reached) == wanted
    summary = browser.find_element(By.CSS_SELECTOR, "#bandwidth .tables summary")
    browser.execute_script("arguments[0].focus()", summary)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert shown(browser, "#bandwidth table")
    browser.switch_to.active_element.send_keys(Keys.TAB, Keys.TAB)
    box = browser.switch_to.active_element
    assert box.get_attribute("role") == "region"
    outline = box.value_of_css_property("outline-style")
    assert outline == "solid"


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_all_words_can_be_read_in_both_colours(
    browser: Chrome, page: str, emulated_page: str, colours: str
) -> None:
    backgrounds = set()
    for one in (page, emulated_page):
        opened(browser, one, colours=colours)
        unfold(browser)
        found = browser.execute_script(COLOURS)
        assert len(found) > 100
        for words, colour, behind in found:
            assert contrast(colour, behind) >= 4.5, (words, colour, behind)
        backgrounds.add(found[0][2])
    assert backgrounds == {"rgb(255, 255, 255)" if colours == "light" else "rgb(20, 23, 26)"}


def test_a_link_to_what_is_folded_opens_it(browser: Chrome, page: str) -> None:
    opened(browser, page)
    browser.execute_script("location.hash = 'bandwidth-more-1'")
    assert shown(browser, "#bandwidth-more-1")


def test_names_stand_beside_curves_on_a_wide_page_and_below_them_on_a_phone(
    browser: Chrome, page: str
) -> None:
    for width, beside in ((DESKTOP, True), (PHONE, False)):
        opened(browser, page, width)
        assert bool(shown(browser, "#bandwidth-first-1 .wide")) == beside
        assert bool(shown(browser, "#bandwidth-first-1 .legend")) != beside


def test_an_emulated_run_says_so_first_and_in_its_pictures(
    browser: Chrome, emulated_page: str
) -> None:
    opened(browser, emulated_page, PHONE)
    assert "EMULATED" in browser.find_element(By.CSS_SELECTOR, "header .warning").text
    pictures = shown(browser, "#bandwidth figure svg")
    assert pictures
    assert all("EMULATED" in picture.text for picture in pictures)


def test_a_page_on_paper_is_light_and_has_no_buttons(browser: Chrome, page: str) -> None:
    opened(browser, page, colours="dark")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    body = browser.find_element(By.TAG_NAME, "body")
    assert body.value_of_css_property("background-color") == "rgba(255, 255, 255, 1)"
    assert shown(browser, "button") == []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
