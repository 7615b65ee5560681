"""
Makes the two pictures of README that show a terminal and a report.

    python docs/draw_first_page.py    # writes docs/pictures/terminal.svg and report.png

The terminal is a recording: the command is run here, and the picture types what it printed. The
report is docs/reports/h100.html in Debian's Chromium; without a browser its picture stays.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
REPORT = ROOT / "docs" / "reports" / "h100.html"
COMMAND = ["isthmus", "advise", "64MiB", "--machine", "h100-sxm-pcie5"]
COLUMNS = 80
# Of what the command prints: its answer and the first table.
PARTS = 3
# Pixels of a character and of a line, and the seconds between two lines.
CHARACTER, LINE, DELAY = 8.4, 18, 0.12
_STYLE = """
text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #d6deeb; white-space: pre }
.typed { fill: #7fdbca; font-weight: bold }
text { animation: shown 0s both } @keyframes shown { from { opacity: 0 } to { opacity: 1 } }
@media (prefers-reduced-motion) { text { animation: none } }
"""


def printed() -> list[str]:
    """Run the command, and give the lines that the picture shows."""
    settings = os.environ | {"COLUMNS": str(COLUMNS), "TERM": "dumb", "ISTHMUS_DRIVER": "emulated"}
    # Behind a terminal: in a pipe its lines are longer.
    typed = f"stty cols {COLUMNS} && {shlex.join([sys.executable, '-P', '-m', *COMMAND])}"
    command = ["script", "--quiet", "--return", "--command", typed, "/dev/null"]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)  # noqa: S603
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    return "\n\n".join(said.split("\n\n")[:PARTS]).split("\n")


def recording(lines: list[str]) -> str:
    """Draw a terminal in which the command is typed and its lines appear."""
    shown = [("typed", f"$ {' '.join(COMMAND)}"), *(("said", line) for line in lines)]
    width = round(CHARACTER * max(len(line) for _, line in shown)) + 24
    texts = [
        f'<text class="{kind}" x="12" y="{LINE * (number + 1) + 8}" '
        f'style="animation-delay: {DELAY * (number + 3 * (number > 0)):.2f}s">{escape(line)}</text>'
        for number, (kind, line) in enumerate(shown)
        if line
    ]
    height = LINE * len(shown) + 24
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
            f"<style>{_STYLE}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#0b1220"/>',
            *texts,
            "</svg>\n",
        ]
    )


def photograph(target: Path) -> bool:
    """Let Chromium draw the first screen of the report."""
    browser = shutil.which("chromium")
    if browser is None:
        return False
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    size = ["--window-size=1000,1300", "--force-device-scale-factor=0.72"]
    command = [browser, *options, *size, f"--screenshot={target}", REPORT.as_uri()]
    subprocess.run(command, check=True, timeout=60, stderr=subprocess.DEVNULL)  # noqa: S603
    return True


def main() -> None:
    """Make both pictures."""
    (PICTURES / "terminal.svg").write_text(recording(printed()), "utf-8")
    if not photograph(PICTURES / "report.png"):
        sys.exit("no picture of the report: apt-get install chromium")


if __name__ == "__main__":
    main()
