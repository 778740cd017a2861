"""The two FAQ collections, in small made-up files of their formats."""

from pathlib import Path

import pytest

from cseb.errors import BadData
from cseb.registry import TASK_GROUPS, TASKS
from cseb.tasks import faq_collections as faq

FAQIR = """<?xml version="1.0" encoding="utf-8"?>
<IRSet xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <queries>
    <Query><QueryGroupID>1</QueryGroupID><QueryID>10</QueryID><QueryString>clean an  oven?</QueryString></Query>
    <Query><QueryGroupID>1</QueryGroupID><QueryID>11</QueryID><QueryString>oven cleaning</QueryString></Query>
    <Query><QueryGroupID>2</QueryGroupID><QueryID>12</QueryID><QueryString>fix a tap &amp; sink</QueryString></Query>
  </queries>
  <KB><Pairs>
    <qaPair><Id>a</Id><Question>How to clean an oven?</Question><Answer>With
 soda.</Answer></qaPair>
    <qaPair><Id>b</Id><Question>Who cleans ovens?</Question><Answer>A cleaner.</Answer></qaPair>
    <qaPair><Id>c</Id><Question>Tap drips</Question><Answer>New washer.</Answer></qaPair>
    <qaPair><Id>d</Id><Question>Oven dirty</Question><Answer>With soda.</Answer></qaPair>
    <qaPair><Id>e</Id><Question></Question><Answer>No question.</Answer></qaPair>
  </Pairs></KB>
  <relCandidates>
    <IRCandidateList><grpId>1</grpId><candidates>
      <IRCandidate><Id>a</Id><Annotations>
        <Annotation><Annotator>x</Annotator><Val>1</Val></Annotation><Annotation><Val>2</Val></Annotation>
      </Annotations></IRCandidate>
      <IRCandidate><Id>b</Id><Annotations><Annotation><Val>2</Val></Annotation></Annotations></IRCandidate>
      <IRCandidate><Id>c</Id><Annotations><Annotation><Val>4</Val></Annotation></Annotations></IRCandidate>
    </candidates></IRCandidateList>
    <IRCandidateList><grpId>2</grpId><candidates>
      <IRCandidate><Id>c</Id><Annotations><Annotation><Val>1</Val></Annotation></Annotations></IRCandidate>
    </candidates></IRCandidateList>
  </relCandidates>
</IRSet>
"""
COUGH = {
    "FAQ_Bank_eval.csv": 'index,source,question,url,answer,language\n0,CDC,Masks?,u,"Wear, \n""one"".",en\n'
    "3,WHO,Hands?,u,Wash them.,en\n4,WHO,Soap?,u,Wash them.,en\n9,WHO,Far?,u,Keep away.,en\n",
    "User_Query_Bank.csv": "index,query\n0,do I need a mask\n2,wash hands\n5,nobody knows\n",
    "Annotated_Relevance_Set.csv": "Query_index,query,FAQ_index,annotations,average,label\n"
    '0,do I need a mask,0,"[4, 4]",4.0,Positive\n0,do I need a mask,9,"[1]",1.0,negative\n'
    "2,wash hands,4,[4],4.0,positive\n5,nobody knows,0,[1],1.0,negative\n7,not in the bank,0,[1],1.0,negative\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(faq, "SIZES", {"faqir": (5, 3), "cough": (4, 3)})
    (tmp_path / "FAQIR").mkdir()
    (tmp_path / "FAQIR/FAQIRv1.0.xml").write_text(FAQIR, encoding="utf-8")
    (tmp_path / "COUGH").mkdir()
    for name, content in COUGH.items():
        (tmp_path / "COUGH" / name).write_text(content, encoding="utf-8")
    return tmp_path


def test_each_question_of_faqir_is_to_find_its_own_answer(folder: Path) -> None:
    data = faq.FAQ("x", "faqir", folds=3).load(folder)
    assert data.queries == ["How to clean an oven?", "Who cleans ovens?", "Tap drips", "Oven dirty"]
    assert data.documents == ["With soda.", "A cleaner.", "New washer."]
    assert data.relevant == [[0], [1], [2], [0]]


@pytest.mark.parametrize(("values", "first"), [(("1",), [0]), (("1", "2"), [0, 1])])
def test_judgements_of_a_template_hold_for_all_its_queries(folder: Path, values: tuple[str], first: list[int]) -> None:
    data = faq.FAQ("x", "faqir", queries="users", relevant=values, folds=2).load(folder)
    assert data.queries == ["clean an oven?", "oven cleaning", "fix a tap & sink"]
    assert data.documents == ["With soda.", "A cleaner.", "New washer.", "No question."]
    assert data.relevant == [first, first, [2]]
    assert data.folds[0] == data.folds[1] != data.folds[2]


def test_cough_is_read_from_its_three_files(folder: Path) -> None:
    data = faq.FAQ("x", "cough", queries="users", relevant=("positive",), folds=2).load(folder)
    assert data.queries == ["do I need a mask", "wash hands"]  # the third has no answer
    assert data.documents == ['Wear, "one".', "Wash them.", "Keep away."]
    assert data.relevant == [[0], [1]]
    own = faq.FAQ("x", "cough", folds=2).load(folder)
    assert own.queries == ["Masks?", "Hands?", "Soap?", "Far?"]
    assert own.relevant == [[0], [1], [1], [2]]


def test_choices_the_paper_leaves_open_stand_in_the_protocol() -> None:
    assert faq.FAQIR.protocol == "faq-retrieval(queries=questions pool=all folds=5)@1"
    assert faq.FAQIR_USEFUL.protocol == "faq-retrieval(queries=users relevant=1/2 pool=all folds=5)@1"
    names = ("faqir", "faqir-users", "faqir-useful", "cough", "cough-users")
    assert [TASKS[name].name for name in names] == list(names)
    assert set(TASK_GROUPS["faq"]) <= set(TASKS)


@pytest.mark.parametrize("collection", ["faqir", "cough"])
def test_missing_and_short_files_are_refused(folder: Path, collection: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadData, match=r"`data_dir`"):
        TASKS[collection].load(None)
    with pytest.raises(BadData, match=r"FAQ.* is not below .* may not be redistributed"):
        TASKS[collection].load(folder / "FAQIR/none")
    monkeypatch.setitem(faq.SIZES, collection, (4133, 1233))
    with pytest.raises(BadData, match=r"contain \d pairs and 3 queries, expected 4133 and 1233"):
        TASKS[collection].load(folder)


def test_broken_files_are_answered(folder: Path) -> None:
    (folder / "FAQIR/FAQIRv1.0.xml").write_text(FAQIR[:500])
    with pytest.raises(BadData, match=r"FAQIRv1.0.xml cannot be read: .*line"):
        TASKS["faqir"].load(folder)
    (folder / "COUGH/User_Query_Bank.csv").write_text("number,query\n0,x\n")
    with pytest.raises(BadData, match="no column 'index'; found: number, query"):
        TASKS["cough"].load(folder)
    (folder / "COUGH/User_Query_Bank.csv").write_text(COUGH["User_Query_Bank.csv"])
    (folder / "COUGH/Annotated_Relevance_Set.csv").write_text("Query_index,FAQ_index,label\n0,77,positive\n")
    with pytest.raises(BadData, match="judgements of 1 unknown pairs, such as '77'"):
        TASKS["cough"].load(folder)
