"""How `make docs` builds the site. API pages are written from the package: no list of modules is kept by hand."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cseb

HERE = Path(__file__).parent
API = HERE / "api"
EXTRA = HERE / "_build" / "extra"  # files for the root of the site
LEFT_OUT = ("cseb.__main__",)

project = "cseb"
author = "The cseb authors"
copyright = "The cseb authors"
release = version = cseb.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", ".*")
]  # types of other packages: their sites are not read, so that no build asks the network
suppress_warnings = ["ref.python"]  # two classes of one name in a signature: either is a good guess, none an error

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

smartquotes = False  # -- begins an option
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"cseb {release}"
html_static_path = ["_static"]
html_extra_path = ["_build/extra"]
html_css_files = ["cseb.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
highlight_language = "none"  # a block without a language is output or a file: nothing in it is a keyword
pygments_style = "friendly"
pygments_dark_style = "monokai"


def packages() -> list[str]:
    """The packages and modules directly inside cseb, by name."""
    found = pkgutil.iter_modules(cseb.__path__, "cseb.")
    return sorted(module.name for module in found if module.name not in LEFT_OUT)


def modules(package: str) -> list[str]:
    """A package and every module below it."""
    module = importlib.import_module(package)
    path = getattr(module, "__path__", None)
    below = pkgutil.walk_packages(path, f"{package}.") if path else ()
    return [package, *sorted(found.name for found in below if not found.name.rpartition(".")[2].startswith("__"))]


def job(module: str) -> str:
    """The first sentence of a module's docstring, which says what it is for."""
    return " ".join((importlib.import_module(module).__doc__ or "").split("\n\n")[0].split())


def write(path: Path, text: str) -> None:
    """Write a page only if it changed, so that Sphinx does not read it again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def commands(app: Any, name: str = "cseb") -> Iterator[tuple[str, Any]]:
    """Every command with all its words, groups of commands opened."""
    for word, command in app.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


def write_commands() -> None:
    """What --help prints, for each command."""
    from typer.main import get_command

    from cseb.commands.application import app

    os.environ["COLUMNS"] = "100"
    pages = ["# Commands", "What `--help` prints, for every command."]
    for name, command in commands(get_command(app)):
        with command.make_context(name, ["--help"], resilient_parsing=True) as context:
            pages.append(f"## {name}\n\n```text\n{command.get_help(context).strip()}\n```")
    pages += ["## Fields of a benchmark file", "\n".join(benchmark_fields())]
    write(API / "commands.md", "\n\n".join(pages) + "\n")


def benchmark_fields() -> Iterator[str]:
    """Yield the lines of a table of the fields of a benchmark file."""
    from cseb.experiment.benchmark import Benchmark
    from cseb.parameters import Parameter

    yield from ("| field | what |", "| --- | --- |")
    for name, info in Benchmark.model_fields.items():
        [parameter] = [each for each in info.metadata if isinstance(each, Parameter)]
        yield f"| `{name}` | {cell(parameter.help)} |"


def write_api() -> None:
    """One page for each package, and the map of all of them."""
    API.mkdir(exist_ok=True)
    pages = packages()
    for old in API.glob("*.md"):
        if old.stem not in (*pages, "map", "commands"):
            old.unlink()
    for package in pages:
        sections = []
        for module in modules(package):
            heading = f"# {module}" if module == package else f"## {module}"
            sections.append(f"{heading}\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n```\n")
        write(API / f"{package}.md", "\n".join(sections))
    lines = ["| module | what it is for |", "| --- | --- |"]
    for package in pages:
        lines += [f"| {{py:mod}}`{module}` | {cell(job(module))} |" for module in modules(package)]
    write(API / "map.md", "# Every module\n\n" + "\n".join(lines) + "\n")


def llms() -> str:
    """Return llms.txt: what cseb is, and the pages of the docs with their first sentences."""
    text = f"# cseb\n\n> {opening(HERE / 'index.md')[1]}\n\nA skill for assistants: [SKILL.md](SKILL.md)\n"
    for title, folder in (("Use", "guide"), ("Extend", "extending"), ("Optional", ".")):
        text += f"\n## {title}\n\n"
        for page in sorted((HERE / folder).glob("*.md")):
            heading, sentence = opening(page)
            if page.stem != "index" and not heading.startswith("`"):  # pages that include a file of the repository
                address = page.relative_to(HERE).with_suffix(".html").as_posix()
                text += f"- [{heading}]({address}){f': {sentence}' if sentence else ''}\n"
    return text


def opening(page: Path) -> tuple[str, str]:
    """Return the heading of a page and the first sentence below it; "" if another thing follows the heading."""
    text = re.sub(r"(?s)\A---\n.*?\n---\n", "", page.read_text(encoding="utf-8"))
    heading, _, rest = text.strip().removeprefix("# ").partition("\n")
    paragraph = " ".join(rest.strip().partition("\n\n")[0].split())
    if not re.match(r"[A-Za-z`]", paragraph) or paragraph.startswith("```"):
        return heading, ""
    sentence = re.split(r"(?<=[.!?])\s", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph))[0]
    return heading, sentence


def write_extra() -> None:
    """Write llms.txt and the skill for assistants."""
    EXTRA.mkdir(parents=True, exist_ok=True)
    write(EXTRA / "llms.txt", llms())
    write(EXTRA / "SKILL.md", (HERE / "guide" / "assistants.md").read_text(encoding="utf-8"))


def cell(text: str) -> str:
    """Text inside a Markdown table."""
    return text.replace("|", r"\|").replace("<", "&lt;").replace("*", r"\*")


def as_text(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """Docstrings here are plain English with `code` in single backticks: nothing else in them is markup."""
    text = "\n".join(lines)
    text = text.replace("``", "`")
    pieces = re.split(r"(`[^`\n]+`)", text)
    out = []
    for piece in pieces:
        if len(piece) > 2 and piece.startswith("`"):
            out.append(f"`{piece}`")
        else:
            plain = re.sub(r"([\\*|`])", r"\\\1", piece)
            out.append(re.sub(r"(\w)_(?=\W|$)", r"\1\\_", plain))
    text = re.sub(r"(?<=[.)\]])\s+(Source|Raises): ", r"\n\n**\1:** ", "".join(out))
    lines[:] = text.splitlines()


def setup(app: Any) -> None:
    """What Sphinx calls first."""
    write_api()
    write_commands()
    write_extra()
    app.connect("autodoc-process-docstring", as_text, priority=400)  # before napoleon's
