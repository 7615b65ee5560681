"""The colours of the page, on light and on dark: words have a contrast of 4.5 or more."""

from isthmus.show.pictures.drawing import COLOURS

LIGHT = {
    "page": "#ffffff",
    "card": "#f5f7f9",
    "ink": "#1a1d21",
    "muted": "#535a63",
    "line": "#d3d8de",
    "link": "#0a58a6",
    "good": "#1a6b35",
    "note": "#7a5200",
    "bad": "#a8201a",
} | {f"curve-{number}": colour for number, colour in enumerate(COLOURS)}

# The same hues, light enough for words on black.
_CURVES = ("#56b4e9", "#f2955c", "#35c49a", "#dd92c8", "#d6ac3a", "#c6cad0")

DARK = {
    "page": "#14171a",
    "card": "#1d2125",
    "ink": "#e8eaed",
    "muted": "#a9b1ba",
    "line": "#3a4149",
    "link": "#7db8f0",
    "good": "#6fcf8b",
    "note": "#e0b050",
    "bad": "#ff8f86",
} | {f"curve-{number}": colour for number, colour in enumerate(_CURVES)}


def variable(name: str) -> str:
    """Name a colour of the page, for styles and pictures."""
    return f"var(--{name})"
