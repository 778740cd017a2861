"""One self-contained page of tables, curves and where each number comes from."""

from cseb.reports.formats.html.page import write

__all__ = ["write"]
