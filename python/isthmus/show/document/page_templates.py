"""The templates of a report, in the folder `page` beside this file."""

from typing import TYPE_CHECKING

from isthmus.ground.extras import packages_for

if TYPE_CHECKING:
    from jinja2 import Environment


def check_templates() -> None:
    """Check early whether a report can be written."""
    with packages_for("reports", "pip install 'isthmus[report]'"):
        import jinja2  # noqa: F401 - only whether it is there


def environment(*, escaped: bool) -> "Environment":
    """Give jinja's environment with the templates."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("isthmus.show.document", "page"),
        autoescape=escaped,  # noqa: S701 - Markdown has an escape of its own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
