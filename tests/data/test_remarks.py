"""A vocabulary that does not fit the texts is said once, with what to do."""

from itertools import pairwise
from pathlib import Path

import pytest

import cseb
from cseb.data.corpus import pack
from cseb.data.shipped import ENCODERS
from cseb.experiment.corpus_checks import corpus_remarks, length_remark, vocabulary_remark
from cseb.methods.grammar import parse_method
from tests.command_line import call

GERMAN = [
    "Die Bundesregierung hat am Mittwoch ein neues Gesetz zur Förderung erneuerbarer Energien beschlossen.",
    "Können Sie mir bitte sagen, wie ich zum Bahnhof komme?",
    "Meine Kreditkarte wurde gestern am Geldautomaten eingezogen.",
    "Der Zug nach München fährt heute leider nicht.",
]
HINDI = ["सरकार ने बुधवार को नए कानून की घोषणा की।", "कृपया बताइए कि रेलवे स्टेशन कैसे जाऊँ?"] * 4
ENGLISH = ["The government passed a new law on Wednesday.", "How do I get to the station, please?"] * 4
FOLDER = ENCODERS["cseb-tiny"].folder
START, CURE = "the encoder's vocabulary does not fit the texts: ", "or a multilingual one such as xlm-roberta-base"


@pytest.mark.parametrize(("texts", "reason"), [(GERMAN, "tokens per word"), (HINDI, "of the tokens are unknown")])
def test_a_vocabulary_that_does_not_fit_is_named_with_a_cure(texts: list[str], reason: str) -> None:
    remark = vocabulary_remark(FOLDER, texts)
    assert remark.startswith(START)
    assert reason in remark
    assert remark.endswith(CURE)


def test_a_vocabulary_that_fits_and_too_few_words_are_not_mentioned(tmp_path: Path) -> None:
    assert vocabulary_remark(FOLDER, ENGLISH) == ""
    assert vocabulary_remark(FOLDER, GERMAN[:1]) == ""
    assert vocabulary_remark(FOLDER, []) == ""
    assert vocabulary_remark(tmp_path, GERMAN) == ""  # no tokenizer.json


def test_training_that_cuts_many_sentences_says_so() -> None:
    """Two corpora that differ only behind 32 words gave one encoder, without a word."""
    methods = [parse_method(text).at(1.0) for text in ("mean", "simcse", "tsdae+recipe(max_length=75)")]
    long, short = " ".join(["word"] * 33), " ".join(["word"] * 32)
    said = length_remark(methods, [long, short, short, short])
    assert said.startswith("25 % of the sentences have more than 32 words, and training reads 32 tokens of each")
    assert length_remark(methods, [long, short, short, short, short]) == ""
    assert length_remark(methods, [f"{short}\t{short}"]) == ""  # a pair
    assert length_remark(methods[:1], [long]) == ""
    corpus = pack("mine", [f"{long} {n}" for n in range(40)])
    assert corpus_remarks(methods, corpus) == [said.replace("25 %", "100 %")]


def test_run_train_and_eval_say_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"{text} {number}" for number in range(10) for text in GERMAN]
    Path("german.txt").write_text("\n".join(lines), encoding="utf-8")
    pairs = [f"{left}\t{right}\t{row % 5}" for row, (left, right) in enumerate(pairwise(lines))]
    Path("pairs.tsv").write_text("\n".join(["sentence1\tsentence2\tscore", *pairs]), encoding="utf-8")
    grid = ("run", "demo", "--corpus", "german.txt", "--sizes", "16", "--methods", "simcse,mean", "--seeds", "1")
    ran = call(*grid, "--tasks", "snli-dev", "--dev", "none", "--dry-run")
    assert (ran.exit_code, ran.stderr.count(START)) == (0, 1), ran.output
    scored = call("eval", "cseb-tiny", "--pooler", "mean", "--tasks", "pairs.tsv", "--results", "results")
    assert (scored.exit_code, scored.stderr.count(START)) == (0, 1), scored.output
    (record,) = cseb.load("results")
    assert record.trace.notes[0].startswith(START)
    trained = cseb.train("simcse+mean", lines, encoder="cseb-tiny", steps=1, scale="recipe(batch_size=8)")
    assert sum(note.startswith(START) for note in trained.notes) == 1
