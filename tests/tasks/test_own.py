"""A user's own task files: their kind, their name, and every error reported in one line."""

import csv
import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset, DatasetDict

from cseb.data.corpus import read_corpus
from cseb.data.lines import rated_pairs
from cseb.errors import BadBenchmark, BadData, BadSpec, CsebError, UnknownName
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.labelled import Classification, Clustering
from cseb.tasks.names import interpretations, parse_names, parse_tasks
from cseb.tasks.own import MEASURES, TaskFile
from cseb.tasks.pairs import PairClassification, RatedPairs, Triplets
from cseb.tasks.retrieval import Ranked

PAIRS = [["sentence1", "sentence2", "score"], ["a  b", "c", "5"], ["d", "e", "4.5"], ["f", "a b", "0"]]
LABELS = [["text", "label"], *([f"s{n}", "xy"[n % 2]] for n in range(12))]
FAQ = [["Question", "Answer"], *([f"q{n}", f"a{n}"] for n in range(6))]
DUPLICATES = [
    *(["question1", "question2", "is_duplicate"], *([f"s{n}", f"t{n}", ["no", "yes"][n % 2]] for n in range(8)))
]
TRIPLETS = [["anchor", "positive", "negative"], ["a", "b", "c"], ["d", "e", "f"]]
FOLDS = "folds, as many as items without common text"
CANDIDATES = [["query", "document", "relevance"], ["q", "x", "1"], ["q", "y", "0"], ["r", "x", "0"], ["r", "z", "2"]]


def write(path: Path, rows: Sequence[Sequence[object]]) -> str:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(dict(zip(rows[0], row, strict=True))) + "\n" for row in rows[1:]))
    else:
        with path.open("w", newline="") as file:
            csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows(rows)
    return str(path)


def only(text: str) -> TaskFile:
    [task] = parse_tasks(text)
    assert isinstance(task, TaskFile)
    return task


def embed(sentences: Sequence[str]) -> np.ndarray:
    return np.float32([np.random.default_rng(list(text.encode())).standard_normal(4) for text in sentences])


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
@pytest.mark.parametrize(
    ("rows", "kind", "loaded", "protocol"),
    [
        (PAIRS, "pairs", RatedPairs, "spearman@1"),
        (LABELS, "classification", Classification, "logistic-regression(folds=5)@1"),
        (FAQ, "retrieval", Ranked, "retrieval@1"),
        (CANDIDATES, "reranking", Ranked, "reranking@1"),
        (DUPLICATES, "pair-classification", PairClassification, "pair-classification(folds=5)@1"),
        (TRIPLETS, "triplets", Triplets, "triplet-accuracy@1"),
    ],
)
def test_the_columns_tell_the_kind(
    tmp_path: Path, ending: str, rows: list[list[str]], kind: str, loaded: type, protocol: str
) -> None:
    task = only(write(tmp_path / f"my{ending}", rows))
    assert (task.name, task.version, task.kind, task.protocol) == (f"my{ending}", 1, kind, protocol)
    data = task.load(None)
    assert isinstance(data, loaded)
    [(outcome, items)] = score_all([(task, data)], embed)
    assert outcome.value is not None
    assert outcome == data.outcome(items)
    assert len(data.influence(items)) == len(data.clusters()) == len(items)
    [result] = interpretations(str(task.path))
    assert result.startswith(f"my{ending}: interpreted as {kind}, {len(rows) - 1} rows (")
    assert result.endswith(task.protocol)


@pytest.mark.parametrize(
    ("yes", "no"), [("1", "0"), ("True", "false"), ("Y", "n"), ("1.0", "0.0"), ("1,0", "0,0"), ("WAHR", "FALSCH")]
)
def test_yes_and_no_are_spelt_in_many_ways(tmp_path: Path, yes: str, no: str) -> None:
    rows = [["sentence1", "sentence2", "label"], *([f"s{n}", f"t{n}", (no, yes)[n % 2]] for n in range(6))]
    data = load_task(write(tmp_path / "my.csv", rows), None)
    assert data.labels.tolist() == [0, 1] * 3


def test_pairs_need_no_header(tmp_path: Path) -> None:
    task = only(write(tmp_path / "my.tsv", PAIRS[1:]))
    data = task.load(None)
    assert data.subsets[0].gold == [5, 4.5, 0]
    assert "(first: 1, second: 2, score: 3)" in task.says()


def test_pairs_of_two_classes_need_no_header(tmp_path: Path) -> None:
    path = write(tmp_path / "my.tsv", DUPLICATES[1:])
    data = only(f"{path}:pair-classification").load(None)
    assert data.labels.tolist() == [0, 1] * 4


def test_judgements_of_the_same_candidate_are_one(tmp_path: Path) -> None:
    path = write(tmp_path / "my.csv", [*CANDIDATES, ["q", "y", "3"], ["q", "w", "0"], ["q", "x", "0"]])
    data = load_task(path, None)
    assert [{data.documents[n] for n in each} for each in data.relevant] == [{"x", "y"}, {"z"}]
    assert [{data.documents[n] for n in pool.documents} for pool in data.pools] == [{"x", "y", "w"}, {"x", "z"}]


def test_columns_are_chosen_by_their_names(tmp_path: Path) -> None:
    rows = [["sentence1", "sentence2", "label", "score"], ["a", "b", "1", "5"], ["c", "d", "0", "2"]]
    assert only(write(tmp_path / "both.csv", rows)).kind == "pairs"  # a score beside a class
    rows = [["similarity", "left", "sentence1", "right", "score"], ["9", "a", "b", "c", "1"], ["8", "d", "e", "f", "2"]]
    data = load_task(write(tmp_path / "several.csv", rows), None)
    assert (data.subsets[0].left, data.subsets[0].gold) == (["b", "e"], [1, 2])  # the first name of each
    path = write(tmp_path / "my.csv", [["text", "label", "2020"], *([f"s{n}", "xy"[n % 2], n] for n in range(12))])
    assert only(f"{path}:classification").load(None).sentences() == [f"s{n}" for n in range(12)]


def test_a_kind_can_be_asked_for(tmp_path: Path) -> None:
    labels, judged = write(tmp_path / "my.csv", LABELS), write(tmp_path / "q.csv", CANDIDATES)
    task = only(f"{labels}:clustering")
    assert isinstance(task.load(None), Clustering)
    assert (task.name, task.protocol) == ("my.csv:clustering", "k-means@1")
    result = only(f"{judged}:retrieval").load(None)
    assert [pool.documents.tolist() for pool in result.pools] == [[0, 1, 2]]
    assert result.relevant == [[0], [2]]


def test_ranking_of_ones_own_files_has_ndcg_as_beir_has_it(tmp_path: Path) -> None:
    graded = [*CANDIDATES[:3], ["q", "w", "3"], *CANDIDATES[3:]]
    vectors = {"q": [1, 0], "r": [0, 1], "x": [1, 0], "y": [1, 1], "w": [2, 1], "z": [1, 2]}

    def embed(texts: Sequence[str]) -> np.ndarray:
        return np.array([vectors[text] for text in texts], dtype=np.float32)

    task = only(write(tmp_path / "graded.csv", graded)).load(None)
    ideal = 3 + 1 / np.log2(3)
    expected = ((1 + 3 / np.log2(3)) / ideal + 1) / 2
    assert task.outcome(task.items(embed)).detail["ndcg10"] == pytest.approx(100 * expected)
    binary = only(write(tmp_path / "binary.csv", [*CANDIDATES[:-1], ["r", "z", "1"]])).load(None)
    assert binary.outcome(binary.items(embed)).detail["ndcg10"] == 100
    assert replace(binary, gains=None).sha256() == binary.sha256()
    assert replace(task, gains=[[1.0] * len(own) for own in task.relevant]).sha256() != task.sha256()
    result = only(f"{write(tmp_path / 'faq.csv', FAQ)}").load(None)
    assert result.gains == [[1.0]] * 6


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_decimal_commas_and_semicolons_are_read_everywhere(tmp_path: Path, separator: str) -> None:
    lines = ["sentence1 sentence2 score", "a b 1,5", "c d 0,25", "e f 5"]
    quoted = [separator.join(f'"{cell}"' if separator == "," else cell for cell in line.split()) for line in lines]
    (path := tmp_path / ("my.tsv" if separator == "\t" else "my.csv")).write_text("\n".join(quoted) + "\n")
    assert list(only(str(path)).load(None).subsets[0].gold) == [1.5, 0.25, 5]
    corpus = read_corpus(str(path), "left=sentence1,right=sentence2,score=score")
    assert rated_pairs(list(corpus))[2] == [1.5, 0.25, 5]
    (tmp_path / "quoted.csv").write_text('\ufeffsentence1;sentence2;score\r\n"a; b";c, d;4,5\r\ne;f;3\r\n')
    [pairs] = load_task(str(tmp_path / "quoted.csv"), None).subsets
    assert (pairs.left, pairs.right, pairs.gold) == (["a; b", "e"], ["c, d", "f"], [4.5, 3])
    (tmp_path / "headless.csv").write_text("a;b;4,5\nc;d;1,0\n")
    assert load_task(str(tmp_path / "headless.csv"), None).sentences() == ["a", "c", "b", "d"]


def test_columns_of_any_name_are_taken_in_order_for_a_kind_that_is_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "my.csv", [["frage", "antwort"], *FAQ[1:]])
    data = only(f"{path}:retrieval").load(None)
    assert data.queries == [f"q{n}" for n in range(6)]
    with pytest.raises(BadData, match=r"columns 'frage', 'antwort', which match no kind.*choose one with .*KIND"):
        parse_tasks(path)
    with pytest.raises(BadData, match=r"columns 'frage', 'antwort'; pairs needs sentence1/sentence_1 \+ sentence2"):
        parse_tasks(f"{path}:pairs")


def test_options_change_name_and_protocol(tmp_path: Path) -> None:
    path = write(tmp_path / "my.csv", LABELS)
    task = only(f"{path}:classification(folds=3)")
    assert (task.name, task.protocol) == ("my.csv:classification(folds=3)", "logistic-regression(folds=3)@1")
    assert parse_names(f"{path}:classification(folds=3),stsb-dev") == [task.name, "stsb-dev"]


def test_geometry_of_ones_own_pairs_is_four_tasks(tmp_path: Path) -> None:
    path = write(tmp_path / "my.csv", PAIRS)
    tasks = parse_tasks(f"{path}:geometry")
    assert [task.name.partition(":")[2] for task in tasks] == list(MEASURES)
    assert tasks[0].protocol == "alignment(of=my.csv above=4)@1"
    assert [len(task.load(None).sentences()) for task in tasks] == [4, 6, 6, 6]
    assert len(only(f"{path}:alignment(above=4.5)").load(None).sentences()) == 2
    with pytest.raises(BadData, match=r"no pair rated above 7 \(highest: 5\)"):
        only(f"{path}:alignment(above=7)").load(None)


def test_the_name_leaves_out_the_folder_and_the_hash_says_what_is_in_it(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    first, second = (write(tmp_path / folder / "my pairs@2.csv", PAIRS) for folder in ("one", "two"))
    assert parse_names(first) == parse_names(second) == ["my_pairs_2.csv"]
    assert only(first).load(None).sha256() == only(second).load(None).sha256()
    with pytest.raises(BadBenchmark, match=r"would both be called my_pairs_2.csv; rename one"):
        parse_names(f"{first},{second}")
    assert parse_names(f"{first},{first}") == ["my_pairs_2.csv"]


def test_a_folder_of_save_to_disk_is_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header, *rows = PAIRS
    pairs = Dataset.from_list([dict(zip(header, row, strict=True)) for row in rows])
    pairs.save_to_disk(tmp_path / "stsb", num_shards=2)
    DatasetDict({"dev": pairs, "test": pairs}).save_to_disk(tmp_path / "both")
    same = only(write(tmp_path / "my.csv", PAIRS)).load(None)
    assert only(f"{tmp_path}/stsb").load(None).sha256() == same.sha256()
    assert only(f"{tmp_path}/both/dev:pairs").load(None).sha256() == same.sha256()
    assert parse_names(f"{tmp_path}/stsb,{tmp_path}/both/dev:pairs") == ["stsb.arrow", "dev.arrow:pairs"]
    with pytest.raises(BadData, match=r"both has the splits dev, test; name one of them, such as .*both/dev$"):
        only(f"{tmp_path}/both")
    monkeypatch.chdir(tmp_path / "both")
    assert parse_names("dev") == ["dev.arrow"]


def test_a_folder_that_is_saved_again_is_read_again(tmp_path: Path) -> None:
    for gold in ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]):
        rows = [{"sentence1": f"a{n}", "sentence2": f"b{n}", "score": score} for n, score in enumerate(gold)]
        Dataset.from_list(rows).save_to_disk(tmp_path / "mine")
        assert only(str(tmp_path / "mine")).load(None).subsets[0].gold == gold


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "my.csv", PAIRS)
    before = load_task(only(path), None)
    assert load_task(only(path), None) is before
    write(tmp_path / "my.csv", PAIRS[:3])
    assert load_task(only(path), None).sha256() != before.sha256()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", r"a.csv is empty"),
        ("a.csv", "sentence1,sentence2,score\n", r"a.csv is empty: a header without rows"),
        ("a.jsonl", "\n", r"a.jsonl is empty"),
        ("a.csv", "sentence1,sentence2,score\na,b,1\nc,d,high\n", r"a.csv, line 3: column 'score' holds 'high'; a num"),
        ("a.csv", "sentence1,sentence2,score\na,b,nan\n", r"line 2: column 'score' holds 'nan'"),
        ("a.csv", "sentence1,sentence2,score\na,b,1\n , d,2\n", r"line 3: column 'sentence1' holds ' '; text"),
        ("a.csv", "sentence1,sentence2,score\na,b,1\nc,d,1\n", r"a.csv rates every pair 1"),
        ("a.jsonl", '{"text": 3, "label": 1}\n', r"line 1: column 'text' holds 3; text is needed"),
        ("a.jsonl", '{"text": "a", "label": null}\n', r"line 1: column 'label' holds nothing; a label"),
        ("a.jsonl", '{"text": "a", "label": NaN}\n', r"line 1: column 'label' holds nan; a label"),
        ("a.csv", "text,label\na,x\nb,x\n", r"a.csv has only the label 'x'; two labels"),
        ("a.csv", "text,label\na,x\nb,x\nc,y\nd,y\n", rf"a.csv allows 2 to 4 {FOLDS}; 5 asked for"),
        ("a.csv", "text,label\na,x\nb,x\nc,x\nd,x\nf,y\nf,y\n", r"the label of 'f' is on one distinct sentence only"),
        ("a.csv", "question,answer\nq,a\nr,a\n", r"too few distinct documents, 1; ranking"),
        ("a.csv", "sentence1,sentence2,label\na,b,1\nb,c,0\n", r"into folds: its 2 items are connected by common"),
        ("a.csv", "query,document,relevance\nq,a,1\n", r"a.csv has no query with both a relevant and an irrelevant"),
        ("a.csv", "text,label,sentence1,sentence2,score\n", r"could be pairs or classification; choose one with"),
        ("a.csv", 'sentence1,sentence2,score\na,b,"1,5"\nc,d,2.5\n', r"column 'score' has decimal commas and points"),
        ("a.csv", 'sentence1,sentence2,score\na,b,"1,000.5"\n', r"line 2: column 'score' holds '1,000.5'; a number"),
        ("a.csv", "sentence1,sentence2,label\na,b,3.8\n", r"line 2: .* yes/no, .*for graded pairs write FILE:pairs"),
        ("a.csv", "question1,question2,is_duplicate\na,b,1\nc,d,1\n", r"a.csv labels every pair yes; pairs of both"),
        ("a.csv", "sentence1,sentence2,score,score\na,b,1,5\n", r"a.csv has 2 columns 'score'; rename one"),
        ("a.csv", "id,body\n1,x\n", r"has the columns 'id', 'body', which match no kind of task.*pairs: sentence1/"),
    ],
)
def test_what_cannot_be_used_is_answered_with_its_line(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(BadData, match=message):
        only(str(tmp_path / name)).load(None)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("none.csv", BadData, r"there is no task file none.csv; a task file ends in .csv"),
        ("some/where", BadData, "there is no task file some/where"),
        ("{}:clustring", BadSpec, "no kind of task is called 'clustring'; did you mean clustering"),
        ("{}:clustering(folds=3)", BadSpec, "clustering has no option 'folds'; known: clusters="),
        ("{}:classification(folds=many)", BadSpec, "folds is 'many'; a number is needed, such as 5"),
        ("{}:classification(folds=0)", BadSpec, "folds is 0; it must be a whole number of at least 1"),
        ("{}:classification(folds=" + "9" * 400 + ")", BadSpec, "folds is an integer too large"),
        ("{}:clustering(clusters=-1)", BadSpec, "clusters is -1; it must be a whole number of at least 0"),
        ("{}:classification(folds=1)", BadData, "allows 2 to 12 folds, .*; 1 asked for"),
        ("notes.txt", UnknownName, "no task is called 'notes.txt'"),
    ],
)
def test_mistyped_words_are_answered(tmp_path: Path, text: str, error: type[CsebError], message: str) -> None:
    path = write(tmp_path / "my.csv", LABELS)
    with pytest.raises(error, match=message):
        only(text.format(path)).load(None)


@pytest.mark.parametrize("vector", [[1.0, 2.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_collapsed_encoder_has_no_score_of_any_kind_and_makes_no_noise(tmp_path: Path, vector: list[float]) -> None:
    kinds = {"p": PAIRS, "l": LABELS, "f": FAQ, "c": CANDIDATES, "d": DUPLICATES, "t": TRIPLETS}
    words = [write(tmp_path / f"{name}.csv", rows) for name, rows in kinds.items()]
    for task in parse_tasks(",".join([*words, f"{words[1]}:clustering"])):
        data = task.load(None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            items = data.items(lambda texts: np.array([vector] * len(texts), dtype=np.float32))
            outcome, moves = data.outcome(items), data.influence(items)
        assert {outcome.value, *outcome.detail.values()} == {None}, task.name
        assert np.isnan(moves).all() or task.kind == "triplets"
