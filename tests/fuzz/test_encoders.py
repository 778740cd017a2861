from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz.harness import Case, Fuzz
from tests.fuzz.hostile import altered, damaged, dumped, number, odd, text, value

pytestmark = pytest.mark.slow
NUMBERS = (0, -1, 1, 3, 7, 10**6, 2**31, 2**63, 10**400, 0.5, "16", None, True, [16], float("nan"), float("inf"))
FIELDS = ("hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size", "vocab_size", "pad_token_id",
          "max_position_embeddings", "type_vocab_size", "hidden_act", "model_type", "architectures", "layer_norm_eps",
          "hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range", "auto_map", "dtype",
          "torch_dtype",
          "quantization_config", "tie_word_embeddings", "is_decoder", "_attn_implementation",
          "chunk_size_feed_forward")  # fmt: skip
MODULES = ("sentence_transformers.models.Transformer", "sentence_transformers.models.Dense", "evil.Module", "os.system",
           "sentence_transformers.models.Nothing", "torch.nn.Linear", "", ".", "a.b.c", "builtins.exec", "hostile.Code",
           "sentence_transformers.models.LSTM", "sentence_transformers.models.CNN",
           "sentence_transformers.models.WordEmbeddings")  # fmt: skip
CODE = "raise BaseException('code of a stranger runs')\n"


def test_encoder_folders_are_scored_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("encoders", 240, lambda case: _make(case, "tiny"))


def test_models_of_sentence_transformers_are_scored_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("modules", 180, lambda case: _make(case, "st"))


def test_saved_models_are_scored_or_refused(fuzz: Fuzz) -> None:
    saved = next((fuzz.data / "saved/models").iterdir())
    fuzz.run("models", 60, lambda case: _make(case, saved.relative_to(case.data)))


def test_word_vectors_are_scored_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("vectors", 100, _vectors)


def _make(case: Case, sound: str | Path) -> None:
    rng, folder = case.rng, case.folder / "model"
    shutil.copytree(case.data / sound, folder)
    for _ in range(rng.choice((1, 1, 2))):
        _spoil(case, folder, rng)
    pooler = rng.choice(((), (), ("--pooler", "mean"), ("--pooler", "first_last")))
    tasks = rng.choice(("../sound/pairs.tsv", "../sound/pairs.tsv", "../sound/labels.csv"))
    name = rng.choice(("model", "model", "./model", f"st:{folder}", str(folder)))
    if rng.random() < 0.15:
        grid = ("--corpus", "../sound/corpus.txt", "--sizes", "16", "--seeds", "1", "--tasks", tasks, "--steps", "1")
        method = rng.choice(("simcse", "micse", "msse", "consert"))
        case.then("run", "../sound/small.yaml", "--encoder", "model", "--methods", f"{method}+recipe(batch_size=8)",
        *grid, "--dev", "none",
                  "--workers", "1", "--quiet")  # fmt: skip
    else:
        case.then("eval", name, "--tasks", tasks, *pooler)


def _spoil(case: Case, folder: Path, rng: random.Random) -> None:
    files = sorted(filter(_regular, folder.rglob("*")))
    if not files:
        return
    path = rng.choice(files)
    ways: tuple[Callable[[Path, random.Random], str], ...] = (
        _bytes,
        _json,
        _json,
        _config,
        _config,
        _odd,
        _gone,
        _weights,
    )
    ways = (*ways, *((_modules, _modules, _pickles) if (folder / "modules.json").is_file() else ()))
    case.notes.append(f"{path.relative_to(folder)}: {rng.choice(ways)(path, rng)}")


def _bytes(path: Path, rng: random.Random) -> str:
    path.write_bytes(damaged(rng, path.read_bytes()))
    return "damaged"


def _odd(path: Path, rng: random.Random) -> str:
    return odd(rng, path)


def _gone(path: Path, rng: random.Random) -> str:
    path.unlink()
    return "gone"


def _json(path: Path, rng: random.Random) -> str:
    path = rng.choice(sorted(filter(_regular, path.parent.rglob("*.json"))) or [path])
    try:
        held = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return _bytes(path, rng)
    path.write_bytes(dumped(rng, altered(rng, held)))
    return f"{path.name} altered"


def _config(path: Path, rng: random.Random) -> str:
    """One field that sizes are made of."""
    config = _root(path) / "config.json"
    if not _regular(config):
        return "left"
    try:
        held = json.loads(config.read_bytes())
        field = rng.choice(FIELDS)
        held[field] = rng.choice((*NUMBERS, *NUMBERS, text(rng), value(rng)))
        config.write_bytes(dumped(rng, held))
    except (ValueError, TypeError, RecursionError):
        return "left"
    return f"config.json, {field}: {str(held[field])[:60]!r}"


def _regular(path: Path) -> bool:
    """Whether reading it ends."""
    return path.is_file() and not path.is_symlink()


def _root(path: Path) -> Path:
    return next(each for each in path.parents if each.name == "model")


def _weights(path: Path, rng: random.Random) -> str:
    """The head of the tensors says something else: shapes, types, places and names."""
    path = _root(path) / "model.safetensors"
    if not _regular(path):
        return "left"
    try:
        content = path.read_bytes()
        size = int.from_bytes(content[:8], "little")
        held = json.loads(content[8 : 8 + size])
    except ValueError:
        return "left"
    head = json.dumps(altered(rng, held)).encode()
    size = len(head) if rng.random() < 0.8 else rng.choice((0, 2**63, 2**64 - 1, 100 << 20, len(head) - 1))
    path.write_bytes(size.to_bytes(8, "little") + head + content[8 + int.from_bytes(content[:8], "little") :])
    return "weights altered"


def _modules(path: Path, rng: random.Random) -> str:
    """Modules of other kinds, in other places, with code beside them that must not run."""
    folder = _root(path)
    if not _regular(folder / "modules.json"):
        return "left"
    try:
        held = json.loads((folder / "modules.json").read_bytes()) if rng.random() < 0.9 else []
    except (ValueError, RecursionError):
        return "left"
    if isinstance(held, list) and held:
        one = rng.choice(held)
        if isinstance(one, dict):
            one[rng.choice(("type", "type", "path", "idx", "name"))] = rng.choice(
                (*MODULES, text(rng), number(rng), "../..", "/")
            )
    for name in ("hostile.py", "evil.py", "1_Pooling/hostile.py", "modeling_hostile.py"):
        if (folder / name).parent.is_dir():
            (folder / name).write_text(CODE)
    (folder / "modules.json").write_bytes(dumped(rng, held))
    return "other modules"


def _pickles(path: Path, rng: random.Random) -> str:
    """Weights as a pickle, with or without safe ones beside it."""
    place = rng.choice((_root(path), _root(path) / "2_Dense"))
    if not place.is_dir():
        return "left"
    (place / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch pickled'\ntR.")
    safe = place / "model.safetensors"
    if _regular(safe) and rng.random() < 0.8:
        safe.rename(place / rng.choice(("decoy.safetensors", "other.safetensors", "model.safetensors.old")))
    return "a pickle"


def _vectors(case: Case) -> None:
    rng = case.rng
    name = rng.choice(("glove.txt", "glove.txt", "glove.vec", "glove.txt.gz", "glove.vec.gz", "glove.bin"))
    path = case.folder / name
    lines = (case.data / "glove.txt").read_text().splitlines()
    for _ in range(rng.choice((0, 1, 3))):
        at = rng.randrange(len(lines))
        cells = lines[at].split(" ")
        cells[rng.randrange(len(cells))] = rng.choice((number, text))(rng)
        lines[at] = " ".join(cells[: rng.randrange(1, 9)])
    if rng.random() < 0.3:
        lines.insert(0, f"{number(rng)} {number(rng)}")
    content = ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")
    if name.endswith(".gz"):
        import gzip

        content = gzip.compress(content)
    path.write_bytes(content if rng.random() < 0.5 else damaged(rng, content))
    if rng.random() < 0.1:
        case.notes.append(odd(rng, path))
    case.then("eval", f"glove:{name}", "--tasks", "../sound/pairs.tsv")
