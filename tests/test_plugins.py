"""A package that brings parts, methods and tasks of its own, installed for real: what it states, and what it costs."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from cseb.records.store import Store
from tests.forked import TOGETHER
from tests.plugin_kit import ARITHMETIC, ENTRIES, RUN, SMALL, TERM, Kit, installed
from tests.world import WORLD

pytestmark = TOGETHER


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return installed(tmp_path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of one job with the part of another package."""
    made = installed(tmp_path_factory.mktemp("kit"))
    ran = made.call("run", *RUN, *SMALL, "--results", made.folder / "results", "--quiet")
    assert ran.returncode == 0, ran.stderr
    return made.folder / "results"


PARTS = [{"name": name, "version": 1, "options": {}} for name in ("dropout", "cls")]


def twin(results: Path, copy: Path, **changes: object) -> None:
    """A copy of the results with one more record, which differs in these fields."""
    shutil.copytree(results, copy)
    [path] = (copy / "runs").iterdir()
    content = json.loads(path.read_text()) | {"key": "0" * 16} | changes
    path.with_name(f"{'0' * 16}.json").write_text(json.dumps(content))


def test_a_record_says_whose_code_it_was_made_by_and_every_default(trained: Path) -> None:
    [record] = Store(trained).load()[0]
    [other] = (package for package in record.foreign if package.package == "cosent-kit")
    assert (other.name, other.package, other.version, len(other.code)) == ("cosent", "cosent-kit", "1.0", 16)
    assert "cosent(weight=1.0, scale=20.0, words='')@1" in record.resolved
    assert record.data_seen == ("external", "subset")
    assert (record.trainer_version, record.encoder_version, record.origin.code) == (1, 1, {})


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("term.py", "* self.scale", "* self.scale * 2"),
        ("arithmetic.py", "dim=-1) @", "dim=0) @"),
    ],
)
def test_a_key_follows_the_code_of_another_package(kit: Kit, trained: Path, file: str, before: str, after: str) -> None:
    text = {"term.py": TERM, "arithmetic.py": ARITHMETIC}[file]
    assert before in text
    [record] = Store(trained).load()[0]
    assert kit.state(trained) == (record.key, "done")
    kit.write(file, text.replace(before, after))
    key, state = kit.state(trained)
    assert (key != record.key, state) == (True, "none")


def test_a_key_follows_the_version_of_another_package(kit: Kit, trained: Path) -> None:
    kit.offer(ENTRIES, version="1.1")
    assert kit.state(trained)[1] == "none"


@pytest.mark.parametrize("command", [["report"], ["compare"], ["report", "--methods", RUN[2]], ["status"]])
def test_records_speak_for_themselves_when_the_package_is_gone(kit: Kit, trained: Path, command: list[str]) -> None:
    results = trained
    if command == ["compare"]:  # with something to compare with
        results = kit.folder / "results"
        twin(trained, results, method="simcse", resolved="dropout()@1 cls()@1", parts=PARTS, foreign=[])
    result = kit.call(command[0], results, *command[1:], installed=False)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("entries", "asked", "told"),
    [
        ("[cseb.terms]\ncosent = cosent_kit.term:CoSent\n", "simcse+cosent", "no group is called cseb.terms; did"),
        ("[cseb.method]\nkit = cosent_kit.method:OTHER\n", "kit", "says name='another'"),
        ("[cseb.method]\nkit = cosent_kit.term:CoSent\n", "kit", "a cseb.methods.spec.Method is needed"),
    ],
)  # fmt: skip
def test_names_are_checked_when_they_are_read(kit: Kit, entries: str, asked: str, told: str) -> None:
    kit.offer(entries)
    assert told in kit.said("show", asked)
    listed = kit.call("show", "parts")
    assert listed.returncode == 0
    assert "infonce" in listed.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("simcse+cosent(scale=0)", "cosent: scale is 0; it must be above 0"),
        ("simcse+cosent(scales=3)", "cosent has no option 'scales'; did you mean scale"),
        (f"simcse+moco(size={'9' * 400})", "an option is a whole number of about 400 digits"),
    ],
)
def test_planning_refuses_what_the_run_refuses(kit: Kit, spec: str, told: str) -> None:
    asked = (WORLD, "--methods", spec, *SMALL, "--results", kit.folder / "results")
    assert told in kit.said("run", *asked, "--dry-run")
    assert told in kit.said("run", *asked)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("return F.cross_entropy(scores, arange(len(scores)))", "return scores.diag()", "a tensor of shape (4,)"),
        ('data_seen = "external"', 'data_seen = "everything"', "'everything'; allowed: 'external', 'labels'"),
        ('external = {"words": "file"}', 'external = {"word": "file"}', "its external is {'word': 'file'}"),
    ],
)  # fmt: skip
def test_a_term_that_breaks_its_contract_is_named(kit: Kit, before: str, after: str, told: str) -> None:
    assert before in TERM
    kit.write("term.py", TERM.replace(before, after))
    ran = kit.call("run", *RUN, *SMALL, "--results", kit.folder / "results", "--quiet")
    assert ran.returncode != 0
    assert told in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_part_is_shown_with_what_it_states(kit: Kit) -> None:
    shown = kit.call("show", "cosent")
    assert shown.returncode == 0, shown.stderr
    for text in (
        "a number above 0",
        "20.0",
        "Nobody 2020, eq. 1.",
        "cosent_kit.term:CoSent, of cosent-kit 1.0",
        "external",
    ):
        assert text in shown.stdout
    assert "words (file)" in shown.stdout
    own = kit.call("show", "infonce").stdout
    assert "a part for the slot terms" in own
    assert "cseb.parts.terms.infonce:InfoNCE" in own
    assert "cosent(weight=1.0, scale=20.0, words='') of cosent-kit 1.0" in kit.call("show", "parts").stdout
    assert "cosent" in kit.call("show", "kit").stdout


def test_files_that_another_package_reads_belong_to_the_key(kit: Kit) -> None:
    (kit.folder / "words.txt").write_text("a\n")
    asked = (WORLD, "--methods", "simcse+cosent(words='words.txt')", *SMALL, "--dry-run")

    def key() -> str:
        return kit.call("run", *asked).stdout.splitlines()[1].split()[0]

    before = key()
    (kit.folder / "words.txt").write_text("b\n")
    assert key() != before


def test_records_of_different_third_party_code_are_not_mixed_silently(kit: Kit, trained: Path) -> None:
    [record] = Store(trained).load()[0]
    twin(trained, kit.folder / "results", seed=1, foreign=[asdict(record.foreign[0]) | {"code": "f" * 16}])
    for command in ("report", "compare"):
        result = kit.call(command, kit.folder / "results")
        assert result.returncode == 2, command
        assert "records differ in the code of cosent" in result.stderr
    assert "the code of cosent" in kit.call("report", kit.folder / "results", "--mixed", "--detail").stdout
