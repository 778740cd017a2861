"""Write static pages of results folders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from cseb.commands.command_line import Call
from cseb.commands.screen import say
from cseb.errors import BadResults
from cseb.parameters import argument, command, option
from cseb.progress import tell
from cseb.text import plain, quantity


@dataclass(frozen=True, slots=True)
class Site:
    """A written site.

    Attributes:
        index: the first page.
        pages: number of pages.
    """

    index: Path
    pages: int


@command
def site(
    results: Annotated[str | Path, argument("Folder of records, or a folder with such folders.")] = "results",
    *,
    to: Annotated[str | Path, option("New folder for the pages.")],
) -> Site:
    """Write static pages of records: a board with ranks, and a page for each method, encoder and record.

    The pages need no network and no server. The board can be filtered, searched, sorted and downloaded; two methods
    can be compared. Stale records and trials of tuning are left out.

    Returns:
        The first page, and the number of pages.

    Raises:
        BadResults: if there are no records, or the folder is not empty or cannot be written.
    """
    from cseb.commands.provenance import story
    from cseb.commands.results import load
    from cseb.exchange.site import write_site
    from cseb.records.store import Store

    folder = Path(results)
    inside = sorted([*folder.glob("*/"), *folder.glob("*/*/")])
    stores = [store for store in map(Store, [folder, *inside]) if store.exists()]
    if not stores:
        raise BadResults(f"{plain(str(folder))} and the folders in it have no records; name a folder of records")
    tell("reading records")
    names = {
        store.folder.relative_to(folder).as_posix() if store.folder != folder else folder.resolve().name: store
        for store in stores
    }
    folders = {name: load(store.folder).records for name, store in names.items()}
    details = {name: partial(story, store=store) for name, store in names.items()}
    return Site(Path(to) / "index.html", write_site(folders, Path(to), details))


def print_site(call: Call[Site]) -> None:
    """Print where the first page is."""
    written = call()
    say(f"{quantity(written.pages, 'page')}; open {plain(str(written.index))}")
