"""One document about runs: the verdict first, then pictures and tables; as HTML or Markdown."""
