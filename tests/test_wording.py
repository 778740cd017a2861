"""The pages use the glossary's terms and short sentences."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cseb.commands.application import app
from cseb.data.shipped import benchmark_names
from cseb.experiment.benchmark import load

ROOT = Path(__file__).parents[1]
# Pages that are held to these rules; add a page as soon as it is rewritten.
PAGES = [
    *(f"results/{name}/README.md" for name in ("tuned", "reading", "real", "real-mini", "practitioner", "triples")),
    *(
        f"results/{name}/README.md"
        for name in ("steps", "rated-pairs", "written", "decoder", "decoder-bidirectional", "documents")
    ),
    *("results/README.md", "results/LOG.md", "results/speed/plan.md", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"),
    *(f"docs/{name}.md" for name in ("index", "quickstart", "speed", "architecture", "protocols", "methods")),
    *(
        f"docs/guide/{name}.md"
        for name in ("describing-methods", "teachers-and-tuning", "running", "reports", "assistants")
    ),
    *(f"docs/extending/{name}.md" for name in ("index", "method", "term", "view", "pooler", "task")),
    *(f"docs/extending/{name}.md" for name in ("launcher", "format", "plugin")),
    *(
        f"docs/guide/{name}.md"
        for name in ("encoders", "tasks", "own-sentences", "python", "statistics", "recommend", "records", "tuning")
    ),
]
# What not to write, and what to write instead.
TERMS = {
    r"settle[sd]?": "resolved, conclusive",
    r"verdicts?": "conclusion",
    r"judge[sd]?": "proxy task",
    r"races?|raced": "successive halving",
    r"trusted": "reliable",
    r"flatter(?:s|ed)": "selection bias",
    r"foreign": "third-party",
    r"mended|mending": "fixed",
    r"as printed": "as reported in the paper",
    r"as released|the releases?": "the authors' code",
    r"words alone|counting words": "TF-IDF baseline",
    r"cannot be told|not to be told|told apart": "not significantly different from",
    r"level with": "equivalent to, or not significantly different from",
    r"apart from": "except, or significantly different from",
    r"per[- ]item|test items?": "examples",
    r"stands|lies": "is",
    r"hangs on": "depends on",
    r"as it stands|as it was": "untrained",
}
LONGEST, AVERAGE = 45, 25  # words in a sentence


def prose(text: str) -> list[str]:
    """Return the paragraphs of a page: no code, tables, comments or addresses of links."""
    text = re.sub(r"(?ms)^(?P<fence>`{3,}|:{3,})[^\n]*\n.*?^(?P=fence)\s*$", "", text)
    text = re.sub(r"(?s)<!--.*?-->", "", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`\n]*`", "CODE", text)
    lines = ["" if line.startswith(("|", "#", "    ")) else line for line in text.splitlines()]
    lines = [re.sub(r"^\s*>\s?", "", line) for line in lines]
    lines = [re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "\n", line) for line in lines]
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines))
    return [" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip()]


def sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph."""
    return [piece for piece in re.split(r"(?<=[.!?])[*_\"')]*\s+(?=[^a-z])", paragraph) if re.search(r"\w", piece)]


def words(sentence: str) -> int:
    """Return the number of words; a number in brackets or a symbol is none."""
    return len([word for word in sentence.split() if re.search(r"[A-Za-z]", word)])


def forbidden(text: str) -> list[str]:
    """Return the forbidden terms in the text, each with what to write instead."""
    return [
        f"{match.group()!r}: write {better}"
        for pattern, better in TERMS.items()
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_uses_the_terms_of_the_glossary(page: str) -> None:
    text = "\n".join(prose((ROOT / page).read_text(encoding="utf-8")))
    assert not forbidden(text)


@pytest.mark.parametrize("page", PAGES)
def test_sentences_are_short(page: str) -> None:
    paragraphs = prose((ROOT / page).read_text(encoding="utf-8"))
    lengths = {sentence: words(sentence) for paragraph in paragraphs for sentence in sentences(paragraph)}
    assert not {sentence: length for sentence, length in lengths.items() if length > LONGEST}
    assert not lengths or sum(lengths.values()) / len(lengths) <= AVERAGE


def help_texts(group: Any = None, name: str = "cseb") -> Iterator[tuple[str, str]]:
    """Yield the help of every command and option, with the command's name."""
    for word, command in (group or get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from help_texts(command, f"{name} {word}")
        else:
            for text in (command.help, *(getattr(parameter, "help", "") for parameter in command.params)):
                yield f"{name} {word}", text or ""


def test_help_uses_the_terms_of_the_glossary() -> None:
    texts = list(help_texts())
    assert len(texts) > 100
    assert not [(name, terms) for name, text in texts if (terms := forbidden(text))]


# Left out: descriptions of papers, and notes that records on disk have.
OTHER_TEXTS = ("cseb/methods/", "cseb/embedders/folders.py", "cseb/embedders/word_vectors.py")


def messages(source: str) -> Iterator[str]:
    """Yield every text of several words in a module, except docstrings: messages, printed lines and table footers."""
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and id(node) not in parts | docstrings and " " in str(node.value):
            yield str(node.value)


def test_messages_use_the_terms_of_the_glossary() -> None:
    paths = [path for path in (ROOT / "cseb").rglob("*.py") if not str(path.relative_to(ROOT)).startswith(OTHER_TEXTS)]
    texts = [(path.name, text) for path in paths for text in messages(path.read_text(encoding="utf-8"))]
    assert len(texts) > 2000
    assert not [(name, text, terms) for name, text in texts if (terms := forbidden(text))]


def test_messages_are_texts_but_not_docstrings() -> None:
    source = 'def f(x):\n    """Doc string."""\n    raise E(f"no {x} here", "two words", "one")\n'
    assert sorted(messages(source)) == ["no X here", "two words"]


@pytest.mark.parametrize("name", benchmark_names())
def test_benchmarks_use_the_terms_of_the_glossary(name: str) -> None:
    benchmark = load(name)
    assert not forbidden(f"{benchmark.description}\n{benchmark.notes}")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"(?m)^#+ (.*)$", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link, anchor in re.findall(r"\]\(([^)#:\s]*)#?([^):\s]*)\)", text):
        target = (ROOT / page).parent / link if link else ROOT / page
        assert link.startswith("api/") or target.exists(), link  # docs/conf.py writes docs/api
        assert not anchor or anchor in anchors(target), anchor


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_a_page_of_the_site_that_includes_a_file_keeps_its_links(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for name, options in re.findall(r"(?m)^```{include} \.\./(\S+)\n((?::.*\n)*)", text):
        included = (ROOT / name).read_text(encoding="utf-8")
        assert "](docs/" not in included or ":relative-docs: docs/" in options, name


def test_prose_leaves_out_code_and_tables() -> None:
    page = "# Head\n\nA `verdict` here.\nNext line.\n\n```console\n$ judge\n```\n\n| race | x |\n\n"
    text = f"{page}- First, [link](judge.md).\n- Second."
    assert prose(text) == ["A CODE here. Next line.", "First, link.", "Second."]
    assert sentences("One is. Two are, e.g. this. (Three)") == ["One is.", "Two are, e.g. this.", "(Three)"]
    assert forbidden("Its verdict settles nothing; lower-level within.") == [
        "'settles': write resolved, conclusive",
        "'verdict': write conclusion",
    ]
