"""Every example of README, CONTRIBUTING and docs runs as it is printed, and prints what the page says.

After a change of what is printed: RENEW=1 pytest tests/test_examples.py writes the new output into the pages.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cseb
from cseb.experiment import benchmark as benchmarks
from cseb.registry import LAUNCHERS, METHODS, SLOTS, TASKS
from tests.command_line import printed
from tests.conftest import SENTENCES, save_deep_encoder, write_senteval
from tests.examples import Desk
from tests.forked import TOGETHER
from tests.pages import PAGES, ROOT, agrees, blocks, commands, renew, renewed
from tests.stderr_lines import without_progress

pytestmark = TOGETHER
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "images" / "demo-seeds.svg"
WITH_EXAMPLES = [page for page in PAGES if {b.language for b in blocks(page)} & {"console", "pycon", "python"}]
KINDS = {registry.kind for registry in (*SLOTS.values(), METHODS, LAUNCHERS, TASKS)}
UNMADE = ("docs/_build", "results/runs", "results/items", "results/models")  # by commands
NUMBER = re.compile(r"`([+-]?\d+\.\d+)`")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages speak of."""
    folder = tmp_path_factory.mktemp("pages")
    save_deep_encoder(folder / "my-bert", width=264)  # a plan is checked against it: micse looks at layers 8 to 11
    tokenizer = folder / "my-bert" / "tokenizer.json"
    text = tokenizer.read_text("utf-8")
    for digit, letter in zip("0123456789", "bcdjkmnopq", strict=True):  # the made-up sentences differ in their numbers
        text = text.replace(f'"{letter}":', f'"{digit}":').replace(f'"##{letter}":', f'"##{digit}":')
    tokenizer.write_text(text, "utf-8")
    write_senteval(folder / "senteval", distinct=50)
    lines = [f"{sentence} {number}" for number in range(20) for sentence in SENTENCES]
    assert len(lines) > 600
    (folder / "my.txt").write_text("\n".join([*lines, *lines]), encoding="utf-8")
    (folder / "my.csv").write_text("id,body\n" + "".join(f"{i},{line}\n" for i, line in enumerate(lines * 2)))
    shutil.copytree(ROOT / "benchmarks" / "expected" / "demo", folder / "results")
    # Beside its records a grid leaves the benchmark it was, whose order tables follow.
    (folder / "results" / "benchmark-demo.yaml").write_text(benchmarks.text(benchmarks.load("demo")), encoding="utf-8")
    (folder / "results" / "real").symlink_to(ROOT / "results" / "real")
    return folder


@pytest.fixture
def desk_of(place: Path, tmp_path: Path) -> Callable[[Path], Desk]:
    def made(page: Path) -> Desk:
        folder = tmp_path / "desk"
        shutil.copytree(place, folder, symlinks=True)
        return Desk(folder, page)

    return made


def takes_long(page: Path) -> bool:
    return page.parent.name == "extending" or page.stem in ("python", "tasks", "encoders", "clusters", "CONTRIBUTING")


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if takes_long(page) else ()) for page in WITH_EXAMPLES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_examples_run_as_printed(page: Path, desk_of: Callable[[Path], Desk]) -> None:
    desk = desk_of(page)
    desk.try_all()
    if os.environ.get("RENEW"):
        renew(desk.differs)
        return
    values = [f"{command} prints\n" + "\n".join(actual) for command, actual in desk.differs]
    assert not values, "\n\n".join([*values, "RENEW=1 writes this into the page"])


OWNERS = ("cseb run --methods simcse,micse,msse --fractions 0.001,0.01 --seeds 5", "cseb report --format latex")


@pytest.mark.parametrize("command", OWNERS)
def test_the_owners_commands_run_in_a_process_of_their_own(command: str, place: Path) -> None:
    words = [*command.split(), *(["--dry-run"] if "run" in command.split() else [])]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, without_progress(done.stderr)) == (0, [])  # a busy machine is slow to load PyTorch
    assert done.stdout.strip()


def test_the_readme_shows_the_owners_command() -> None:
    shown = [each.text for block in blocks(README) for each in commands(block)]
    assert {*OWNERS, "make demo", "make test"} <= set(shown)


def test_the_picture_is_what_plot_draws(place: Path, tmp_path: Path) -> None:
    made = tmp_path / "demo-seeds.svg"
    printed("plot", str(place / "results"), "--kind", "seeds", "--out", str(made))
    if os.environ.get("RENEW"):
        shutil.copy(made, PICTURE)
    drawn, shown = (re.findall(r"<use [^>]*/>", path.read_text("utf-8")) for path in (made, PICTURE))
    assert drawn == shown  # every mark in its place; glyphs may differ with the version of matplotlib


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("page", ["README.md", "docs/guide/statistics.md"])
def test_every_decimal_in_the_text_is_printed_by_an_example(page: str) -> None:
    """Prose cannot keep a number that its example does not print any more."""
    path = ROOT / page
    shown = "\n".join(block.text for block in blocks(path))
    text = path.read_text(encoding="utf-8")
    for block in blocks(path):
        text = text.replace(block.text, "")
    missing = [number for number in NUMBER.findall(text) if number not in shown]
    assert not missing
    assert page == "README.md" or NUMBER.findall(text)


@pytest.mark.parametrize(
    ("printed", "fits", "fails"),
    [
        (["a", "b"], ["a", "b"], ["a", "b", "c"]),
        (["a", "..."], ["a", "b", "c"], ["b", "a"]),
        (["...", "c"], ["a", "b", "c"], ["c", "d"]),
        (["...", "b", "..."], ["a", "b", "c"], ["a", "c"]),
        (["a", "...", "c"], ["a", "c"], ["a", "b"]),
    ],
)
def test_three_dots_stand_for_lines_left_out(printed: list[str], fits: list[str], fails: list[str]) -> None:
    assert agrees(tuple(printed), fits)
    assert not agrees(tuple(printed), fails)


def test_a_page_is_renewed_where_it_leaves_lines_out() -> None:
    printed = ("title", "...", "name  1.0", "other  2.0", "...")
    assert renewed(printed, ["head", "", "name  1.5", "other  2.0", "end"]) == [
        "head", "...", "name  1.5", "other  2.0", "...",
    ]  # fmt: skip
    assert renewed(("1.0",), ["1.5", "2.0"]) == ["1.5", "2.0"]
    with pytest.raises(AssertionError, match="printed any more"):
        renewed(("...", "gone", "..."), ["else"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_files_and_links_of_a_page_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`(cseb(?:\.[a-z_]+)+)`", text):
        if name.count(".") == 1 and name.partition(".")[2] in KINDS:  # a group of entry points
            continue
        if name.partition(".")[2] in cseb.__all__:  # a function of the Python API
            continue
        path = ROOT / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").exists(), f"{page.name}: there is no module {name}"
    for path in re.findall(r"`((?:cseb|benchmarks|tests|results|docs|\.github)/[\w./-]*)`", text):
        if "KEY" not in path and not path.startswith(UNMADE):
            assert (ROOT / path).exists(), f"{page.name}: there is no {path}"
    for link in re.findall(r"\]\(([^)#: ]+)(?:#[^)]*)?\)", text):
        made = link.startswith("api/")  # by docs/conf.py
        assert made or (page.parent / link).exists(), f"{page.name}: the link {link} leads nowhere"
