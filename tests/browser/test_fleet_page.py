"""The page of a fleet, opened and looked through."""

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
def test_cells_are_shown_and_nothing_scrolls_sideways(
    browser: Chrome, fleet_page: str, width: int
) -> None:
    opened(browser, fleet_page, width)
    unfold(browser)
    assert complaints(browser) == []
    [picture] = shown(browser, "#cells figure svg")
    assert 200 < picture.size["width"] <= width
    assert does_not_scroll_sideways(browser)


def test_each_gpu_has_a_row_and_slow_ones_have_frames(browser: Chrome, fleet_page: str) -> None:
    opened(browser, fleet_page)
    [picture] = shown(browser, "#cells svg")
    assert "a-name.t…e.org GPU 0" not in picture.text  # names are shortened, not cut off
    names = [line for line in picture.text.splitlines() if "GPU 0" in line]
    assert len(names) == 20
    assert names[0].startswith("a-name.")
    frames = picture.find_elements(By.CSS_SELECTOR, "path[stroke='var(--ink)'][stroke-width='2']")
    assert len(frames) > 10


def test_the_numbers_of_the_cells_are_saved(
    browser: Chrome, fleet_page: str, downloads: Path
) -> None:
    opened(browser, fleet_page)
    browser.find_element(By.CSS_SELECTOR, "#cells button[data-save=csv]").click()
    rows = list(
        csv.DictReader(arrived(browser, downloads, "cells-first-1.csv").decode().splitlines())
    )
    assert len(rows) == 20 * len({row["family"] for row in rows})
    slow = [row for row in rows if row["slow"] == "true"]
    assert all(float(row["relative_cost"]) > 1.2 for row in slow)
    assert slow


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_all_words_can_be_read_in_both_colours(
    browser: Chrome, fleet_page: str, colours: str
) -> None:
    opened(browser, fleet_page, colours=colours)
    unfold(browser)
    found = browser.execute_script(COLOURS)
    assert len(found) > 100
    for words, colour, behind in found:
        assert contrast(colour, behind) >= 4.5, (words, colour, behind)


def test_the_keyboard_reaches_the_table(browser: Chrome, fleet_page: str) -> None:
    opened(browser, fleet_page)
    wanted = browser.execute_script(
        "return [...document.querySelectorAll('a, summary, button, [tabindex]')]"
        ".filter((one) => one.checkVisibility()).length"
    )
    reached = set()
    for _ in range(wanted):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(browser.switch_to.active_element.id)
    assert len(reached) == wanted
    assert browser.switch_to.active_element.get_attribute("role") == "region"


def test_of_a_thousand_gpus_the_worst_are_shown_and_the_others_counted(
    browser: Chrome, large_fleet_page: str
) -> None:
    opened(browser, large_fleet_page, PHONE)
    assert complaints(browser) == []
    words = browser.find_element(By.TAG_NAME, "main").text
    assert "The worst 40 of 1000 GPUs have rows; 960 are left out." in words
    assert "The worst 200 of 1000 GPUs have numbers here; 800 are left out." in words
    assert "100 more are left out here: isthmus fleet check --all lists them." in words
    assert len(browser.find_elements(By.CSS_SELECTOR, "#standings tbody tr")) == 200
    assert does_not_scroll_sideways(browser)
