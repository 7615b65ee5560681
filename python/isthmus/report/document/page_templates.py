"""The templates of a report, in the folder `page` beside this file."""

from typing import TYPE_CHECKING

from isthmus.errors import Unavailable

if TYPE_CHECKING:
    from jinja2 import Environment


def check_templates() -> None:
    """
    Check early whether a report can be written.

    Raises:
        Unavailable: It can't.
    """
    try:
        import jinja2  # noqa: F401 - only whether it is there
    except ImportError as cause:
        raise Unavailable(
            capability="reports",
            reason="jinja2 is not installed",
            needs="pip install 'isthmus[report]'",
        ) from cause


def environment(*, escaped: bool) -> "Environment":
    """
    Give jinja's environment with the templates.

    Args:
        escaped: Whether what is put into them is escaped for HTML.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("isthmus.report.document", "page"),
        autoescape=escaped,  # noqa: S701 - Markdown has an escape of its own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
