"""The two FAQ collections of Tan et al. 2022, in the files of their authors: FAQIR 1.0 and COUGH.

They are the tasks of table 2 of that paper (RCL).

Neither may be shipped with cseb (CC BY-NC-SA 3.0 and 4.0); they are read from the data folder. The paper does not
state which side is the query, what is ranked, what counts as relevant and how folds are made. These are options here,
and part of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple
from xml.etree import ElementTree

from cseb.data.bounded import MIB, read_bytes
from cseb.data.manifest import data_sets, locate
from cseb.data.tables import read_table
from cseb.errors import BadData
from cseb.tasks.retrieval import Ranked, faq, judged


class Bank(NamedTuple):
    """The content of a collection.

    questions, answers: by the id of a pair, in order. queries: text and template of users' queries. judgements: for
    each query, the annotators' labels of a pair, by its id.
    """

    questions: dict[str, str]
    answers: dict[str, str]
    queries: list[tuple[str, str]]
    judgements: list[Mapping[str, Set[str]]]


@dataclass(frozen=True, slots=True)
class FAQ:
    """Retrieval among the answers of a FAQ collection.

    queries: `questions` (each question of the collection is to find its own answer) or `users` (judged queries find the
    answers judged relevant). relevant: the judgements that count, in the words of the collection; one annotator who
    says so is enough. All answers are ranked for every query. Folds are over questions that share no answer; with
    users' queries over templates (FAQIR) or equal texts (COUGH).

    Source: Karan & Šnajder 2016; Zhang et al. 2020; Tan et al. 2022, section 4.1.
    """

    name: str
    collection: Literal["faqir", "cough"]
    queries: Literal["questions", "users"] = "questions"
    relevant: tuple[str, ...] = ()
    folds: int = 5
    version: int = 1

    @property
    def protocol(self) -> str:
        """Return, for example, faq-retrieval(queries=users relevant=1 pool=all folds=5)@1."""
        relevant = f" relevant={'/'.join(self.relevant)}" if self.relevant else ""
        return f"faq-retrieval(queries={self.queries}{relevant} pool=all folds={self.folds})@1"

    def load(self, data_dir: Path | None) -> Ranked:
        bank = (read_faqir if self.collection == "faqir" else read_cough)(data_dir)
        if self.queries == "questions":
            answered = [key for key in bank.answers if bank.questions[key] and bank.answers[key]]
            questions, answers = [bank.questions[key] for key in answered], [bank.answers[key] for key in answered]
            return faq(questions, answers, name=self.name, folds=self.folds)
        places = {key: place for place, key in enumerate(bank.answers)}
        relevant = [
            [places[key] for key, labels in judgements.items() if labels & set(self.relevant)]
            for judgements in bank.judgements
        ]
        documents = list(bank.answers.values())
        return judged(bank.queries, documents, relevant, name=self.name, folds=self.folds)


def read_faqir(data_dir: Path | None) -> Bank:
    """Return FAQIRv1.0.xml: 4,133 pairs and 1,233 queries of 50 templates.

    Labels: 1 is relevant, 2 useful, 3 useless, 4 irrelevant. Raises: BadData.
    """
    [path] = _files("faqir", data_dir)
    try:
        root = ElementTree.fromstring(read_bytes(path, 64 * MIB))  # noqa: S314  # expat refuses entities that blow up
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise BadData(f"{path} cannot be read: {error}; use an unmodified copy") from None
    pairs, queries = (
        [{part.tag: _text(part.text) for part in node} for node in _tags(root, tag)] for tag in ("qaPair", "Query")
    )
    judgements: dict[str, dict[str, set[str]]] = {}
    for group in _tags(root, "IRCandidateList"):
        template = judgements.setdefault(_text(group.findtext("grpId")), {})
        for candidate in _tags(group, "IRCandidate"):
            labels = template.setdefault(_text(candidate.findtext("Id")), set())
            labels |= {_text(value.text) for value in _tags(candidate, "Val")}
    bank = Bank(
        {pair.get("Id", ""): pair.get("Question", "") for pair in pairs},
        {pair.get("Id", ""): pair.get("Answer", "") for pair in pairs},
        [(query.get("QueryString", ""), query.get("QueryGroupID", "")) for query in queries],
        [judgements.get(query.get("QueryGroupID", ""), {}) for query in queries],
    )
    return _checked(bank, path, "faqir")


def read_cough(data_dir: Path | None) -> Bank:
    """Return FAQ_Bank_eval.csv, User_Query_Bank.csv and Annotated_Relevance_Set.csv: 7,117 pairs and 1,201 queries.

    The last column of the annotations says `positive` or not; those of queries that are not in the query bank are
    negative and left out. Raises: BadData.
    """
    paths = {path.name: path for path in _files("cough", data_dir)}
    pairs = _columns(path := paths["FAQ_Bank_eval.csv"], "index", "question", "answer")
    queries = _columns(paths["User_Query_Bank.csv"], "index", "query")
    judgements: dict[str, dict[str, set[str]]] = {}
    for query, pair, label in _columns(paths["Annotated_Relevance_Set.csv"], "Query_index", "FAQ_index", ""):
        judgements.setdefault(query, {}).setdefault(pair, set()).add(label.lower())
    bank = Bank(
        {key: question for key, question, _ in pairs},
        {key: answer for key, _, answer in pairs},
        [(text, text) for _, text in queries],
        [judgements.get(key, {}) for key, _ in queries],
    )
    return _checked(bank, path, "cough")


SIZES = {"faqir": (4133, 1233), "cough": (7117, 1201)}  # pairs, users' queries


def _checked(bank: Bank, path: Path, collection: str) -> Bank:
    pairs, queries = SIZES[collection]
    if (len(bank.answers), len(bank.queries)) != (pairs, queries):
        raise BadData(
            f"{path} and its other files contain {len(bank.answers)} pairs and {len(bank.queries)} queries, "
            f"expected {pairs} and {queries}; use unmodified copies"
        )
    if unknown := {key for judgements in bank.judgements for key in judgements} - set(bank.answers):
        raise BadData(f"{path} has judgements of {len(unknown)} unknown pairs, such as {min(unknown)!r}")
    return bank


def _files(name: str, data_dir: Path | None) -> list[Path]:
    """Return the files of a collection below the data folder, in the order of the manifest. Raises: BadData."""
    data, paths = data_sets()[name], []
    for file in data.files:
        path = locate(data, file, data_dir) if data_dir else None
        if path is None:
            where = f"not below {data_dir} or {', '.join(data.also)} in it" if data_dir else "needed in `data_dir`"
            raise BadData(f"{file.file} is {where}; it may not be redistributed, get it from {data.homepage}")
        paths.append(path)
    return paths


def _columns(path: Path, *names: str) -> list[Sequence[str]]:
    """Return these columns of a table as text; "" means the last one. Raises: BadData."""
    table = read_table(path)
    if missing := set(names) - {*table.columns, ""}:
        raise BadData(f"{path} has no column {min(missing)!r}; found: {', '.join(table.columns)}")
    columns = [table.column(name or table.columns[-1]) for name in names]
    return [[_text(str(cell)) for cell in row] for row in zip(*columns, strict=True)]


def _tags(node: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    """Return the elements below `node` of this name in any case; FAQIR's read-me and file differ in case."""
    return (element for element in node.iter() if element.tag.lower() == name.lower())


def _text(text: str | None) -> str:
    return " ".join((text or "").split())


FAQIR = FAQ("faqir", "faqir")
FAQIR_USERS = FAQ("faqir-users", "faqir", queries="users", relevant=("1",))
FAQIR_USEFUL = FAQ("faqir-useful", "faqir", queries="users", relevant=("1", "2"))
COUGH = FAQ("cough", "cough")
COUGH_USERS = FAQ("cough-users", "cough", queries="users", relevant=("positive",))
