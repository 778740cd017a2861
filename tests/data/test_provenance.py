"""Provenance beside a corpus: found by name, every fault one line, kept in the corpus and told in what was seen."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cseb.data.corpus import read_corpus
from cseb.data.provenance import Provenance, read_provenance, seen_in, sidecar
from cseb.errors import BadData

GIVEN = {"generator": "gpt-3.5-turbo", "date": "2023-05", "prompt_sha256": "a" * 64, "licence": "MIT"}


def written(folder: Path, **changes: object) -> Path:
    path = folder / "corpus.provenance.yaml"
    path.write_text("".join(f"{key}: {value}\n" for key, value in (GIVEN | changes).items() if value is not None))
    return path


@pytest.mark.parametrize("name", ["corpus.txt", "corpus.JSONL", "corpus.csv.gz", "corpus.TSV.GZ"])
def test_it_stands_beside_the_corpus_under_its_name(name: str) -> None:
    assert sidecar(Path("there") / name) == Path("there/corpus.provenance.yaml")


@pytest.mark.parametrize(
    ("date", "read"), [("2023-05-17", "2023-05-17"), ("2023", "2023"), ("2023-05", "2023-05"), ("unknown", "unknown")]
)
def test_all_fields_are_read_and_what_is_left_out_is_unknown(tmp_path: Path, date: str, read: str) -> None:
    result = read_provenance(written(tmp_path, date=date, filters="cosine above 0.9"))
    assert result == Provenance(**(GIVEN | {"date": read}), filters="cosine above 0.9", seed_sentences="unknown")
    assert "gpt-3.5-turbo" in str(result)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"generator": None}, "the field generator is missing; write generator, date"),
        ({"generator": "gpt 4"}, "generator is 'gpt 4'; a name without blanks"),
        ({"licence": None}, "the field licence is missing"),
        ({"licence": "''"}, "licence is ''; one line of at most 500"),
        ({"licence": "x" * 501}, "licence is 'xxx"),
        ({"date": "last May"}, "date is 'last May'; a date such as 2023-05, or unknown"),
        ({"date": "true"}, "date is 'True'; a date"),
        ({"prompt_sha256": "beef"}, "prompt_sha256 is 'beef'; the sha256 of the prompt, 64 hexadecimal digits"),
        ({"prompt_sha": "x"}, "no field is called 'prompt_sha'; did you mean prompt_sha256"),
        ({"filters": "[1]"}, r"filters is '\[1\]'; one line"),
        ({"generator": "[[["}, "not readable as YAML"),
    ],
)
def test_every_fault_is_one_line(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    with pytest.raises(BadData, match=words):
        read_provenance(written(tmp_path, **changes))


def test_a_file_without_fields_says_which_are_needed(tmp_path: Path) -> None:
    (path := tmp_path / "a.provenance.yaml").write_text("gpt\n")
    with pytest.raises(BadData, match="holds no fields; write generator, date, prompt_sha256, licence"):
        read_provenance(path)


def test_a_corpus_has_the_provenance_beside_it(tmp_path: Path) -> None:
    (corpus := tmp_path / "corpus.txt").write_text("one\ntwo\n")
    plain = read_corpus(str(corpus))
    assert plain.provenance is None
    with pytest.raises(BadData, match=r"declared as generated and has no corpus\.provenance\.yaml beside it"):
        read_corpus(f"generated:{corpus}")
    written(tmp_path)
    for name in (str(corpus), f"generated:{corpus}"):
        result = read_corpus(name)
        assert result.provenance == Provenance(**GIVEN)
        assert (result.name, result.sha256) == (name, plain.sha256)
    written(tmp_path, date="soon")
    with pytest.raises(BadData, match="date is 'soon'"):
        read_corpus(str(corpus))


def test_what_was_seen_names_the_generator() -> None:
    provenance = Provenance(**GIVEN)
    assert seen_in(("generated", "subset"), provenance) == ("generated:gpt-3.5-turbo", "subset")
    assert seen_in(("subset",), provenance) == ("generated:gpt-3.5-turbo", "subset")
    assert seen_in((), provenance) == ()  # nothing is trained
    assert seen_in(("generated", "subset"), None) == ("generated", "subset")


@given(st.binary(max_size=60) | st.text("{}[]:,-#&*!|>'\"%@` \nagenrtodlic0123", max_size=60).map(str.encode))
@settings(max_examples=60, deadline=None)
def test_no_bytes_raise_anything_else(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder) / "a.provenance.yaml").write_bytes(content)
        with pytest.raises(BadData):
            read_provenance(path)
