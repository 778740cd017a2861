"""Small real encoders for tests: random weights, saved as any user's folder would be."""

import importlib.util
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several tests run at a time: their threads would wait for one another
if "PYTEST_XDIST_WORKER" not in os.environ:  # those inherit it
    os.environ.pop("CSEB_DATA_DIR", None)  # tests read real data only where they ask for them
    os.environ["CSEB_TESTS_HOME"] = tempfile.mkdtemp(prefix="cseb-tests-")
    for kind in ("CACHE", "CONFIG", "DATA"):  # the user's own folders are not read
        os.environ[f"XDG_{kind}_HOME"] = str(Path(os.environ["CSEB_TESTS_HOME"], kind.lower()))

from cseb.data.manifest import DataFile
from cseb.records.store import Store
from cseb.tasks.senteval import TABLES, YEARS

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts us behind its back has Ctrl-C ignored
# A change is judged by its own faults, on a busy machine too; --hypothesis-profile=other looks for others.
UNCHECKED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("other", deadline=None, suppress_health_check=UNCHECKED)
settings.register_profile("same", settings.get_profile("other"), derandomize=True)
settings.load_profile("same")

ROOT = Path(__file__).parents[1]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folders of the tests."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ["CSEB_TESTS_HOME"], ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest group first: handed out late, one process would run it while the others had nothing left to do."""
    items.sort(key=lambda item: all(mark.args != ("forked",) for mark in item.iter_markers("xdist_group")))


def pytest_make_parametrize_id(val: object) -> str | None:
    """A short name for a test of a long text: every process is told the names of all tests."""
    if isinstance(val, str | bytes) and len(val) > 200:
        return f"{val[:40]!r} and {len(val) - 40:,} more"
    return None


WORDS = ("a", "man", "woman", "is", "was", "eating", "food", "pizza", "playing", "guitar", "in", "the", "park", "dog")
SUBJECTS = ("a man", "a woman", "the dog", "the cat")
OBJECTS = ("food", "pizza", "the guitar", "in the park")
SENTENCES = [
    f"{subject} {tense} {verb} {thing}"
    for subject in SUBJECTS
    for tense in ("is", "was")
    for verb in ("eating", "playing")
    for thing in OBJECTS
]


def save_tokenizer(folder: Path) -> int:
    """A lower-casing WordPiece tokenizer over WORDS and letters. Returns the size of its vocabulary."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, '"', ".", *WORDS, *letters, *(f"##{each}" for each in letters)]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=64,
    )  # fmt: skip
    fast.save_pretrained(folder)
    return len(vocabulary)


def tiny_config(family: str, vocabulary: int) -> object:
    """Two layers, width 16, two heads, in the configuration of one family of encoders."""
    import transformers as t

    common = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
              "vocab_size": vocabulary, "max_position_embeddings": 80, "pad_token_id": 0}  # fmt: skip
    modern = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3, "attention_dropout": 0.1}
    distil = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "vocab_size": vocabulary, "pad_token_id": 0}
    return {
        "bert": lambda: t.BertConfig(**common),
        "roberta": lambda: t.RobertaConfig(**common),
        "mpnet": lambda: t.MPNetConfig(**common),
        "modernbert": lambda: t.ModernBertConfig(**common, **modern),
        "distilbert": lambda: t.DistilBertConfig(**distil),
        "t5": lambda: t.T5Config(
            d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, vocab_size=vocabulary, pad_token_id=0
        ),
        "gpt2": lambda: t.GPT2Config(
            n_embd=16, n_layer=2, n_head=2, n_positions=80, vocab_size=vocabulary, bos_token_id=2, eos_token_id=3
        ),
    }[family]()


def save_deep_encoder(folder: Path, width: int = 384) -> None:
    """An encoder of twelve layers, wide enough for every method's own options, and quick all the same."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    vocabulary = save_tokenizer(folder)
    config = BertConfig(vocab_size=vocabulary, hidden_size=width, num_attention_heads=12, intermediate_size=8)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertForMaskedLM(config).save_pretrained(folder)


def save_lookalike(folder: Path) -> Path:
    """A new folder with an encoder's files, nothing in them; planning reads no weights."""
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (folder / name).write_text(name)
    return folder


def script_of(name: str) -> ModuleType:
    """A script of the folder `benchmarks`, which is no package."""
    spec = importlib.util.spec_from_file_location(f"{name}_script", ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty folder of records."""
    made = Store(tmp_path / "results")
    made.prepare()
    return made


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a two-layer encoder of a family, with its language-model head, made once per session."""
    made: dict[str, Path] = {}

    def folder(family: str = "bert") -> Path:
        if family not in made:
            import torch
            from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForTextEncoding

            kind = {"t5": AutoModelForTextEncoding, "gpt2": AutoModelForCausalLM}.get(family, AutoModelForMaskedLM)
            path = tmp_path_factory.mktemp(family)
            vocabulary = save_tokenizer(path)
            with warnings.catch_warnings(), torch.random.fork_rng():
                warnings.simplefilter("ignore")
                torch.manual_seed(0)
                kind.from_config(tiny_config(family, vocabulary)).save_pretrained(path)
            made[family] = path
        return made[family]

    return folder


def write_subset(where: Path, name: str, file: DataFile, distinct: int) -> None:
    """Row i is rated if i is a multiple of `step`, and says its own number, modulo `distinct`."""
    step = file.rows // file.rated
    rated = [i % step == 0 and i // step < file.rated for i in range(file.rows)]
    where.mkdir(parents=True, exist_ok=True)
    pairs = "".join(f'left  {i % distinct} "\tright\u00a0{i % distinct} .\n' for i in range(file.rows))
    (where / f"STS.input.{name}.txt").write_text(pairs)
    (where / f"STS.gs.{name}.txt").write_text("".join(f"{i % 6 if kept else ''}\n" for i, kept in enumerate(rated)))


def write_senteval(root: Path, distinct: int = 10**9) -> Path:
    """Files of the right size and layout with made-up sentences: with few distinct ones an encoder is soon done."""
    for year, subsets in YEARS.items():
        for name, rows in subsets.items():
            write_subset(root / f"STS/STS{year}-en-test", name, rows, distinct)
    (root / "STS/STS13-en-test/STS.gs.SMT.txt").write_text("1\n" * 750)  # lies there without its sentences
    (root / "STS/STSBenchmark").mkdir()
    (root / "SICK").mkdir()
    for table in (TABLES["stsb-dev"], TABLES["stsb-test"]):
        rows = range(table.file.rows)
        lines = [f'genre\tfile\tyear\t{i}\t{i % 5}.5\t"left {i % distinct}\tright {i % distinct}\n' for i in rows]
        (root / table.file.file).write_text("".join(lines))
    for table, end in ((TABLES["sick-dev"], "\n"), (TABLES["sick-test"], "\r\n")):
        rows = range(table.file.rows)
        lines = [f"{i}\tleft {i % distinct}\tright {i % distinct}\t{i % 5}.5\tNEUTRAL{end}" for i in rows]
        (root / table.file.file).write_bytes(f"id\tA\tB\tscore\tlabel{end}{''.join(lines)}".encode())
    return root


@pytest.fixture(scope="session")
def senteval(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of the right size and layout with made-up sentences."""
    return write_senteval(tmp_path_factory.mktemp("senteval"))
