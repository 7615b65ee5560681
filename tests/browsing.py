"""A page in the browser: opened for a reader, and what it shows."""

from collections.abc import Callable
from pathlib import Path

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

DESKTOP, PHONE, SMALLEST = 1280, 390, 360

# Every element with words of its own, its colour, and the first background behind it.
COLOURS = """
const words = (one) => [...one.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
const clear = (colour) => colour === "rgba(0, 0, 0, 0)" || colour === "transparent";
const behind = (one) => {
  for (let at = one; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!clear(colour)) return colour;
  }
  return "rgb(255, 255, 255)";
};
return [...document.body.querySelectorAll("*")]
  .filter((one) => words(one) && one.getClientRects().length && one.tagName !== "SCRIPT")
  .map((one) => {
    const style = getComputedStyle(one);
    const colour = one.closest("svg") ? style.fill : style.color;
    return [one.textContent.trim().slice(0, 40), colour, behind(one)];
  });
"""


def opened(browser: Chrome, page: str, width: int = DESKTOP, colours: str = "light") -> None:
    """Open a page in a window of a width, for a reader who prefers dark or light pages."""
    window = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
    wanted = {"name": "prefers-color-scheme", "value": colours}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [wanted]})
    browser.get(page)


def complaints(browser: Chrome) -> list[object]:
    """List what the browser has written to its console."""
    found: list[object] = browser.get_log("browser")  # type: ignore[no-untyped-call]
    return found


def unfold(browser: Chrome) -> None:
    for summary in browser.find_elements(By.TAG_NAME, "summary"):
        summary.click()


def shown(browser: Chrome, selector: str) -> list[WebElement]:
    found = browser.find_elements(By.CSS_SELECTOR, selector)
    return [element for element in found if element.is_displayed()]


def arrived(browser: Chrome, folder: Path, name: str) -> bytes:
    """Wait for a download: the browser gives a file its name when it is complete."""
    path = folder / name
    WebDriverWait(browser, 20, 0.02).until(lambda _: path.exists(), f"{name} didn't arrive")
    return path.read_bytes()


def does_not_scroll_sideways(browser: Chrome) -> bool:
    wide, own = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    return bool(wide <= own)


def contrast(first: str, second: str) -> float:
    """Compare two colours as WCAG 2 does."""
    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    power: Callable[[float], float] = lambda one: ((one + 0.055) / 1.055) ** 2.4  # noqa: E731
    red, green, blue = (one / 12.92 if one <= 0.04045 else power(one) for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
