"""Back-translation with small random models: the cache, what it saves, and models that are not there."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from cseb.errors import BadData
from cseb.methods.grammar import parse_method
from cseb.parts import back_translation as translation
from cseb.parts.back_translation import BackTranslation, read, write
from cseb.parts.views import Paraphrase
from cseb.training.build import build, check
from tests.conftest import SENTENCES, save_tokenizer
from tests.training.small_runs import run

FEW = SENTENCES[:6]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two folders of one-layer T5 models with random weights."""
    from transformers import T5Config, T5ForConditionalGeneration

    folders = []
    for seed in range(2):
        folder = tmp_path_factory.mktemp(f"t5-{seed}")
        vocabulary = save_tokenizer(folder)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            config = T5Config(
                vocab_size=vocabulary, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2,
                decoder_start_token_id=0, pad_token_id=0, eos_token_id=3,
            )  # fmt: skip
            T5ForConditionalGeneration(config).save_pretrained(folder)
        folders.append(str(folder))
    return folders[0], folders[1]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "LENGTH", 8)
    monkeypatch.setattr(translation, "BATCH", 2)


def part(models: tuple[str, str], cache: Path) -> BackTranslation:
    return BackTranslation(*models, beams=2, cache=str(cache))


def test_translations_are_aligned_deterministic_and_cached(models: tuple[str, str], tmp_path: Path) -> None:
    first = part(models, tmp_path / "a")
    sentences, translations = first(FEW)
    assert sentences is FEW
    assert len(translations) == len(FEW)
    assert set(read(first.file)) == set(FEW)
    assert part(models, tmp_path / "b")(list(reversed(FEW)))[1] == translations[::-1]
    assert Paraphrase(file=str(first.file))(FEW)[1] == [value.strip() for value in translations]


def test_nothing_is_translated_twice(models: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = part(models, tmp_path)
    _, translations = view(FEW[:4])
    asked: list[str] = []
    original = translation.translate
    monkeypatch.setattr(translation, "translate", lambda texts, *rest: asked.extend(texts) or original(texts, *rest))
    assert view(FEW)[1][:4] == translations
    assert set(FEW[4:]) <= set(asked)
    assert not set(FEW[:4]) & set(asked)
    monkeypatch.setattr(translation, "_load_model", None)  # nothing lacks, so no model is loaded
    assert view(FEW)[1][:4] == translations


def test_a_stopped_run_continues(models: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "SAVED", 1)
    view = part(models, tmp_path)
    calls = 0
    original = translation.translate

    def stops(*arguments: object) -> list[str]:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(translation, "translate", stops)
    with pytest.raises(KeyboardInterrupt):
        view(FEW)
    assert len(read(view.file)) == 2  # one batch, there and back
    monkeypatch.setattr(translation, "translate", original)
    assert len(view(FEW)[1]) == len(FEW)
    assert [file.suffix for file in tmp_path.iterdir()] == [".tsv"]


def test_two_workers_keep_each_others_translations(tmp_path: Path) -> None:
    file = tmp_path / "known.tsv"
    write(file, {"a": "A"})
    write(file, {"b": "B"})
    assert read(file) == {"a": "A", "b": "B"}


def test_other_models_or_beams_have_another_file(models: tuple[str, str], tmp_path: Path) -> None:
    files = {
        part(models, tmp_path).file,
        part((models[1], models[0]), tmp_path).file,
        BackTranslation(*models, beams=3, cache=str(tmp_path)).file,
    }
    assert len(files) == 3


def test_the_share_of_unchanged_and_empty_translations_is_told(models: tuple[str, str], tmp_path: Path) -> None:
    view = part(models, tmp_path)
    write(view.file, {"a man": "a man", "a dog": "", "the  cat".replace("  ", " "): "the red cat"})
    assert view(["a man", "a dog", "the\tcat", "a man"])[1] == ["a man", "", "the red cat", "a man"]
    assert view.notes == ("back_translation: 50.0% of the translations equal their sentence, 25.0% are empty",)


def test_models_that_are_not_there_are_one_line(models: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(BadData, match="cannot be loaded"):
        part((str(tmp_path / "nowhere"), models[1]), tmp_path)(FEW)


def test_a_trained_job_carries_the_note(models: tuple[str, str], tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    text = f"simcse+back_translation(forward={models[0]!r},backward={models[1]!r},beams=1,cache={str(tmp_path)!r})"
    method = parse_method(f"{text}+recipe(steps=2,warmup=0,batch_size=4,eval_every=1)").at(1.0)
    check(method, tiny("bert"))
    trained = run(build(method, tiny("bert"), 0), FEW)
    assert "of the translations equal their sentence" in trained.notes[0]
    assert all(loss < 10 for _, loss, _ in trained.curve)
