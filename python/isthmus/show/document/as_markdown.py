"""A document as Markdown: the verdict, what each chapter shows, and its tables; no pictures."""

from isthmus.show.document.page_templates import environment
from isthmus.show.document.parts import Document
from isthmus.show.markdown import markdown_table, markdown_text


def as_markdown(document: Document) -> str:
    """Write a document as Markdown with tables. The same document gives the same bytes."""
    templates = environment(escaped=False)
    templates.filters |= {"plain": markdown_text, "grid": markdown_table}
    return templates.get_template("page.md.j2").render(document=document)
