"""A submission is recomputed and repeated; one that was tampered with is refused, and writes nothing."""

import io
import json
import pickle
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cseb
from cseb.commands.submission import loader_of_installed
from cseb.errors import BadData
from cseb.records import submission as files
from cseb.records.store import Store
from tests.command_line import call, printed, refused
from tests.world import WORLD

Members = dict[str, bytes]
Tamper = Callable[[Path, Path], object]


@pytest.fixture(scope="module")
def packed(ran: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("submission") / "mine.zip"
    assert cseb.submit(ran, to=path) == 2
    return path


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def unpacked(content: Members, folder: Path) -> Path:
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def test_every_record_is_recomputed_and_one_is_repeated(ran: Path, packed: Path, tmp_path: Path) -> None:
    result = printed("receive", packed, "--reruns", 1, "--to", tmp_path / "theirs")
    assert result.splitlines()[-1] == "1 rerun equal, 1 recomputed"
    stored, mine = Store(tmp_path / "theirs"), Store(ran)
    assert stored.load()[0] == mine.load()[0]
    for key in sorted(mine.keys()):
        np.testing.assert_equal(stored.read_items(key), mine.read_items(key))


def test_records_of_one_random_stream_are_repeated_with_the_same_bits(tmp_path: Path) -> None:
    """Of `--seed-scope dropout` alone seed 1 sets dropout; all else is that of seed 0."""
    small: dict[str, Any] = {"methods": "simcse", "corpus": "wikipedia:7000", "sizes": [70], "steps": 2}
    made = cseb.run(
        WORLD, **small, seeds=2, seed_scope="dropout", tasks="toy-captions", workers=1, device="cpu", results=tmp_path
    )
    assert [record.vary for record in made.records] == ["dropout"] * 2
    assert len({record.scores[0].value for record in made.records}) == 2
    cseb.submit(tmp_path, to=tmp_path / "mine.zip")
    badges = cseb.receive(tmp_path / "mine.zip", reruns=2)
    assert [badge.badge for badge in badges] == ["rerun equal"] * 2


def test_equal_records_give_equal_bytes_without_local_folders(ran: Path, packed: Path, tmp_path: Path) -> None:
    folder = unpacked(members(packed), tmp_path / "copy")
    benchmark = folder / "benchmark-world.yaml"
    benchmark.write_text(benchmark.read_text("utf-8") + f"data_dir: {tmp_path}\n", encoding="utf-8")
    assert call("submit", folder, "--to", tmp_path / "again.zip").output.startswith("2 records written to ")
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()


def test_records_that_cannot_be_recomputed_are_not_submitted(packed: Path, tmp_path: Path) -> None:
    unpacked(edited(packed, lambda record: record["scores"][0].update(value=99.0)), tmp_path)
    assert "the record says 99.000000" in refused("submit", tmp_path, "--to", tmp_path / "mine.zip")
    assert not (tmp_path / "mine.zip").exists()


def key_file(packed: Path, method: str = "cls") -> str:
    """Return the name of the record of a method."""
    return next(n for n, c in members(packed).items() if n.startswith("runs/") and json.loads(c)["method"] == method)


def edited(packed: Path, change: Callable[[dict[str, Any]], object], name: str = "") -> Members:
    """Return the members with a changed record."""
    content, name = members(packed), name or key_file(packed)
    record = json.loads(content[name])
    change(record)
    return content | {name: json.dumps(record).encode()}


def write(path: Path, content: Members, **details: Any) -> Path:
    """Write a zip file; details: of the last member."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            member = zipfile.ZipInfo(name)
            for detail, value in details.items() if name == [*content][-1] else ():
                setattr(member, detail, value)
            archive.writestr(member, data)
    return path


def written(content: Callable[[Path], Members], **details: Any) -> Tamper:
    return lambda packed, path: write(path, content(packed), **details)


def with_file(name: str) -> Tamper:
    return written(lambda packed: members(packed) | {name: b"{}"})


def no_record(packed: Path) -> Members:
    return {name: content for name, content in members(packed).items() if name != key_file(packed)}


def bomb(packed: Path) -> Members:
    return {"runs/0123456789abcdef.json": b" " * 5_000_000}


def crowd(packed: Path) -> Members:
    return {f"runs/{number:016x}.json": b"" for number in range(2_000)}


def twice(packed: Path, path: Path) -> None:
    write(path, members(packed))
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr(key_file(packed), b"{}")


def flipped(packed: Path, path: Path) -> None:
    write(path, members(packed))
    content = bytearray(path.read_bytes())
    content[content.index(b'"seed"') + 1] ^= 1
    path.write_bytes(content)


def test_scores_without_items_are_claimed_and_never_repeated(packed: Path, tmp_path: Path) -> None:
    items = key_file(packed).replace("runs", "items").replace("json", "npz")
    write(tmp_path / "theirs.zip", {name: content for name, content in members(packed).items() if name != items})
    badges = {badge.record.method: badge for badge in cseb.receive(tmp_path / "theirs.zip", reruns=2)}
    assert sorted(badge.badge for badge in badges.values()) == ["claimed", "rerun equal"]
    assert badges["cls"].badge == "claimed"
    assert badges["cls"].reasons == ("4 scores without outcomes for each example",)


def local_folder(packed: Path, path: Path) -> None:
    content = members(packed)
    write(path, content | {"benchmark-world.yaml": content["benchmark-world.yaml"] + b"data_dir: /etc\n"})


@pytest.mark.parametrize(
    ("tamper", "words"),
    [
        (with_file("../../outside.json"), "has the file '../../outside.json'"),
        (with_file("/tmp/outside.json"), "has the file '/tmp/outside.json'"),
        (with_file("sitecustomize.py"), "has the file 'sitecustomize.py'"),
        (written(members, external_attr=(stat.S_IFLNK | 0o777) << 16), "which is a link"),
        (written(members, compress_type=zipfile.ZIP_LZMA), "compressed in an unusual way"),
        (written(bomb, compress_type=zipfile.ZIP_DEFLATED), "unpacks to 5,000,000 bytes, at most 4,194,304"),
        (written(crowd), "is no zip file as cseb submit writes it"),
        (twice, "has a file twice"),
        (flipped, "Bad CRC-32"),
        (lambda packed, path: path.write_bytes(packed.read_bytes()[:-100]), "is no zip file as cseb submit writes it"),
        (lambda packed, path: path.write_bytes(pickle.dumps({})), "is no zip file as cseb submit writes it"),
        (written(no_record), "without its record"),
        (written(lambda packed: edited(packed, lambda record: record.update(command="rm"))), "not a record: command"),
        (
            written(lambda packed: edited(packed, lambda record: record.update(key="0" * 16))),
            "contains the record '0000000000000000'",
        ),
        (local_folder, "has the field data_dir"),
    ],
)
def test_a_tampered_archive_is_refused_as_a_whole(
    tamper: Tamper, words: str, packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "DIRECTORY", 100_000)
    (tmp_path / "in").mkdir()
    tamper(packed, tmp_path / "in" / "theirs.zip")
    result = refused("receive", tmp_path / "in" / "theirs.zip", "--to", tmp_path / "in" / "out")
    assert words in result.replace("\n", " ")
    assert [path.name for path in tmp_path.rglob("*")] == ["in", "theirs.zip"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda record: record["scores"][0].update(value=1.0), "the record says"),
        (lambda record: record.update(method="mean"), "its key does not belong"),
        (lambda record: record["subset"].update(size=32), "its key does not belong"),
    ],
)
def test_changes_are_named(
    change: Callable[[dict[str, Any]], object], reason: str, packed: Path, tmp_path: Path
) -> None:
    write(tmp_path / "theirs.zip", edited(packed, change))
    result = call("receive", tmp_path / "theirs.zip", "--to", tmp_path / "out")
    assert result.exit_code == 1
    assert f"{Path(key_file(packed)).stem} refused: " in result.output
    assert reason in result.output
    assert not (tmp_path / "out").exists()


def test_pickled_scores_are_not_opened(packed: Path, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, scores=np.array([{"a": 1}], dtype=object))
    items = key_file(packed).replace("runs", "items").replace("json", "npz")
    write(tmp_path / "theirs.zip", members(packed) | {items: buffer.getvalue()})
    result = call("receive", tmp_path / "theirs.zip")
    assert result.exit_code == 1
    assert "Object arrays cannot be loaded when allow_pickle=False" in result.output.replace("\n", " ")


@pytest.mark.parametrize("name", ["{}/secret.tsv", "shots8:{}/secret.tsv", "mteb:Banking77Classification"])
def test_only_installed_tasks_are_loaded(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.tsv").write_text("text\tlabel\n")
    with pytest.raises(BadData, match="no installed task"):
        loader_of_installed()(name.format(tmp_path))


@pytest.mark.parametrize(("torch", "badge"), [("1.0", "rerun within tolerance"), ("", "refused")])
def test_a_rerun_shows_what_scores_alone_cannot(torch: str, badge: str, packed: Path, tmp_path: Path) -> None:
    def change(record: dict[str, Any]) -> None:
        record["trace"]["curve"] = [[step, loss + 0.25, dev] for step, loss, dev in record["trace"]["curve"]]
        record["origin"]["versions"]["torch"] = torch or record["origin"]["versions"]["torch"]

    trained = next(n for n in members(packed) if n.startswith("runs/") and n != key_file(packed))
    write(tmp_path / "theirs.zip", edited(packed, change, trained))
    badges = cseb.receive(tmp_path / "theirs.zip", reruns=2)
    assert sorted(each.badge for each in badges) == sorted([badge, "rerun equal"])
