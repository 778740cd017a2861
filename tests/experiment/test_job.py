"""A job's key: it changes with all that can change a number, and with nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from cseb.data.weights import find_encoder
from cseb.errors import BadData
from cseb.experiment import job as jobs
from cseb.experiment.job import Job
from cseb.experiment.plan import plan
from tests.experiment.conftest import Make


def test_the_key_changes_with_all_that_can_change_a_number_and_nothing_else(make: Make, encoder: Path) -> None:
    def key(**changes: Any) -> str:
        return plan(make(**({"methods": "simcse"} | changes)))[0].key

    first = key()
    assert key() == first
    assert key(name="other", notes="x", seeds=5, fractions=[0.1, 1.0]) == first
    assert key(fractions=(), sizes=[100]) == first  # the same sentences, asked for in another way
    different = {
        key(scale="recipe(steps=61, batch_size=32)"),
        key(tasks="toy-captions"),
        key(dev=""),
        key(fractions=[0.2]),
        key(methods="simcse+ami"),
    }
    (encoder / "model.safetensors").write_text("other weights")
    different.add(key())
    assert len(different | {first}) == 7


@pytest.mark.parametrize("name", ["TRAINER_VERSION", "ENCODER_VERSION"])
def test_the_key_has_versions_of_trainer_and_encoder(make: Make, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """So a grid runs the job again; the key of version 1 is that of records without a version."""
    first = plan(make(methods="simcse"))[0].key
    monkeypatch.setattr(jobs, name, 2)
    assert plan(make(methods="simcse"))[0].key != first


def test_a_task_file_is_known_by_what_it_says_wherever_it_lies(make: Make, tmp_path: Path) -> None:
    content = "one\tother\t1\na\tb\t2\nc\td\t3\n"
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my.tsv").write_text(content)
    job, moved = (plan(make(tasks=str(tmp_path / folder / "my.tsv")))[0] for folder in ("here", "there"))
    assert job.protocol.tasks == ("my.tsv@1",)
    assert job.key == moved.key
    assert (job.tasks, job.dev) == (str(tmp_path / "here/my.tsv"), "toy-dev")
    (tmp_path / "there/my.tsv").write_text(content.replace("3", "0"))
    assert plan(make(tasks=str(tmp_path / "there/my.tsv")))[0].key != job.key
    chosen = plan(make(dev=str(tmp_path / "here/my.tsv")))[0].protocol
    assert (chosen.dev, chosen.dev_pairs) == ("my.tsv@1", 3)


def test_what_a_method_reads_from_elsewhere_is_part_of_its_identity(make: Make, tmp_path: Path) -> None:
    """The content of a generator, and a file of paraphrases; not the files of other methods."""
    model, pairs = tmp_path / "generator", tmp_path / "pairs.tsv"
    model.mkdir()
    for name in ("config.json", "model.safetensors", "README.md"):
        (model / name).write_text(name)
    pairs.write_text("a\tb\n")
    texts = [
        f"diffcse+rtd(generator='{model}')",
        f"simcse+paraphrase(file='{pairs}')",
        "simcse",
        "diffcse+rtd(generator=self)",
    ]

    def planned() -> list[Job]:
        return plan(make(methods=",".join(texts), fractions=[0.5], seeds=1))

    before = planned()
    names = [[source.name for source in job.external_inputs] for job in before]
    assert names == [[str(model)], [str(pairs)], [], []]
    assert before[0].external_inputs[0].sha256 == find_encoder(str(model))[1]
    for change in (model / "model.safetensors", pairs):
        change.write_text("c\td\n")
    (model / "README.md").write_text("more words")
    after = planned()
    assert [source.key == other.key for source, other in zip(before, after, strict=True)] == [False] * 2 + [True] * 2
    with pytest.raises(BadData, match=r"rtd: generator: .*no such folder.*generator=self\) avoids the other model"):
        plan(make(methods="diffcse+rtd(generator='./nowhere')"))


def test_the_files_of_a_finished_encoder_are_part_of_the_key_where_it_is_the_teacher(make: Make, encoder: Path) -> None:
    def key() -> str:
        return plan(make(methods="skd+own_teacher", fractions=[0.5], seeds=1))[0].key

    (encoder / "1_Pooling").mkdir()
    seen = [key()]
    for pooling in ("mean", "cls"):
        listed = [{"type": f"sentence_transformers.models.{kind}", "path": "1_Pooling"} for kind in ("Pooling",)]
        (encoder / "modules.json").write_text(json.dumps(listed))
        (encoder / "1_Pooling" / "config.json").write_text(json.dumps({f"pooling_mode_{pooling}_tokens": True}))
        seen.append(key())
    for name in ("LICENCE", "data_config.json", "train_script.py"):  # which decide nothing
        (encoder / name).write_text("{}")
    assert len({*seen}) == 3 and key() == seen[-1]


def test_modules_and_prompt_of_the_encoder_are_part_of_the_key_where_they_are_used(make: Make, encoder: Path) -> None:
    def keys() -> list[str]:
        return [job.key for job in plan(make(methods="mean+own_modules,mean", fractions=[0.5], seeds=1))]

    def listed(*kinds: str) -> str:
        return json.dumps([{"type": f"sentence_transformers.models.{kind}", "path": "2_Dense"} for kind in kinds])

    (encoder / "2_Dense").mkdir()
    seen = [keys()]
    for name, content in (
        ("modules.json", listed("Transformer", "Dense")),
        ("modules.json", listed("Transformer", "Dense", "Normalize")),
        ("2_Dense/model.safetensors", "weights"),
        ("2_Dense/model.safetensors", "other weights"),
        ("2_Dense/config.json", '{"activation_function": "torch.nn.Tanh"}'),
        ("config_sentence_transformers.json", '{"prompts": {"query": "query: "}, "default_prompt_name": "query"}'),
    ):
        (encoder / name).write_text(content)
        seen.append(keys())
    (encoder / "README.md").write_text("which decides nothing")
    seen.append(keys())
    own, plain = zip(*seen, strict=True)
    assert len({*own}) == len(own) - 1
    assert own[-1] == own[-2]
    assert len({*plain}) == 1
