"""The table of encoder families and the views and parts that go with them, in docs/guide/encoders.md.

Every family is a random encoder of two layers with the dropout rates that its configuration has by default. A cell says
what the check before a grid says; with `--train` every one that passes is trained for a step as well, in some minutes.
Run it in the root of the repository after a family, a view or a check has changed: python -m benchmarks.families
"""

from __future__ import annotations

import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.marked import with_table
from cseb.data.shipped import ENCODERS
from cseb.data.weights import locate
from cseb.errors import BadSpec
from cseb.methods.grammar import parse_method

ROOT = Path(__file__).parents[1]
PAGE, MARKER = "docs/guide/encoders.md", "families, by benchmarks/families.py"
WIDTH = 32
NOISE = "+recipe(dropout=0.1)"
SHORT = "+recipe(steps=1,batch_size=8,warmup=0,eval_every=1)"
SENTENCES = [f"{who} {what} near the old {where} on Sunday" for who in ("A man", "The dog", "Nobody", "She")
             for what in ("sings", "was eating") for where in ("station", "river")]  # fmt: skip

# Columns: a heading, and what stands behind `simcse+mean`.
COLUMNS: Mapping[str, str] = {
    "`dropout`": "",
    "`multi_dropout`": "+multi_dropout",
    "`crop`": "+crop",
    "`delete`": "+delete",
    "`shuffle`": "+shuffle",
    "`char_span_mask`": "+char_span_mask",
    "`prompts`": "+mask_prompt+prompts",
    "cutoffs": "+embedding_edits(second=token_cutoff)",
    "`position_shuffle`": "+embedding_edits",
    "`ami`": "+delete+ami(layers=(0,1))",
    "`mlm`": "+delete+mlm",
    "`denoise`": "+delete+denoise",
    "`drophead`": "+delete+drophead",
    "`last_layers`": "+delete+last_layers(count=1)",
    "`lora`": "+delete+lora(targets='all')",
}


def families() -> dict[str, Callable[[int], Any]]:
    """Name to what makes a configuration for so many words."""
    import transformers

    t: Any = transformers  # its configurations take words by name, of any kind
    common = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 80}
    wide = common | {"intermediate_size": 64}
    padded = wide | {"pad_token_id": 0}
    ends = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    none = {"bos_token_id": None, "eos_token_id": 3, "pad_token_id": None}
    distil = {"dim": WIDTH, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}
    return {
        "BERT": lambda words: t.BertConfig(**padded, vocab_size=words),
        "RoBERTa": lambda words: t.RobertaConfig(**padded, vocab_size=words),
        "XLM-R": lambda words: t.XLMRobertaConfig(**padded, vocab_size=words),
        "ELECTRA": lambda words: t.ElectraConfig(**padded, vocab_size=words, embedding_size=16),
        "ALBERT": lambda words: t.AlbertConfig(**padded, vocab_size=words, embedding_size=16),
        "DeBERTa-v2": lambda words: t.DebertaV2Config(**padded, vocab_size=words, relative_attention=True),
        "DistilBERT": lambda words: t.DistilBertConfig(**distil, vocab_size=words, max_position_embeddings=80),
        "MPNet": lambda words: t.MPNetConfig(**padded, vocab_size=words),
        "ModernBERT": lambda words: t.ModernBertConfig(**padded, **ends, vocab_size=words),
        "OPT": lambda words: t.OPTConfig(**common, **none, ffn_dim=64, word_embed_proj_dim=WIDTH, vocab_size=words),
        "Llama, SmolLM2": lambda words: t.LlamaConfig(**wide, **none, vocab_size=words),
        "Qwen3": lambda words: t.Qwen3Config(**wide, **none, head_dim=16, num_key_value_heads=1, vocab_size=words),
        "Pythia": lambda words: t.GPTNeoXConfig(**wide, **none, vocab_size=words),
    }


def made(name: str, below: Path) -> Path:
    """The folder of a random encoder of this family, with its language-model head; a table of random vectors last."""
    import torch
    import transformers

    if name == STATIC:
        return locate("static:random-32:cseb-tiny")
    t: Any = transformers
    tokenizer = t.AutoTokenizer.from_pretrained(ENCODERS["cseb-tiny"].folder)
    config, kind = families()[name](len(tokenizer)), t.AutoModelForMaskedLM
    if config.pad_token_id is None:
        kind, backend = t.AutoModelForCausalLM, tokenizer.backend_tokenizer
        backend.post_processor = None
        tokenizer = t.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", eos_token="[SEP]")
    tokenizer.model_max_length = 64
    folder = below / name.split(",", maxsplit=1)[0]
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        kind.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


STATIC = "static table"


def verdict(folder: Path, edits: str) -> str:
    """yes; dropout: only with rates above 0, which this family does not have by default; no."""
    from cseb.training.build import check

    for said, noise in (("yes", ""), ("dropout", NOISE)):
        try:
            check(parse_method(f"simcse+mean{edits}{noise}{SHORT}").at(1.0), folder)
        except BadSpec:
            continue
        return said
    return "no"


def trained(folder: Path, edits: str, said: str) -> bool:
    """Whether one step has a finite loss and gradient."""
    from cseb.training.build import build
    from cseb.training.loop import train

    method = parse_method(f"simcse+mean{edits}{NOISE if said == 'dropout' else ''}{SHORT}").at(1.0)
    found = train(build(method, folder, seed=0), SENTENCES, 0, "cpu", None, lambda look: None)
    finite = all(bool(value.isfinite().all()) for value in found.last.values() if value.is_floating_point())
    return finite and all(math.isfinite(loss) for _, loss, _ in found.curve)


def table(cells: Mapping[str, list[str]]) -> str:
    """Markdown; a row for each family."""
    lines = [f"| family | {' | '.join(COLUMNS)} |", f"| --- |{' --- |' * len(COLUMNS)}"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(row)} |" for name, row in cells.items())])


def made_table(below: Path, train: bool) -> str:
    """The table, from encoders that are put below this folder; train: raise RuntimeError where a cell does not."""
    cells: dict[str, list[str]] = {}
    for name in (*families(), STATIC):
        folder = made(name, below)
        cells[name] = [verdict(folder, edits) for edits in COLUMNS.values()]
        for edits, said in zip(COLUMNS.values(), cells[name], strict=True):
            if train and said != "no" and not trained(folder, edits, said):
                raise RuntimeError(f"{name} does not train with simcse+mean{edits}")
        if train:
            print(name, *cells[name], flush=True)  # progress of a script
    return table(cells)


def main() -> None:
    """Write the table into the page."""
    page = ROOT / PAGE
    with tempfile.TemporaryDirectory() as below:
        found = made_table(Path(below), "--train" in sys.argv)
    page.write_text(with_table(page.read_text(encoding="utf-8"), MARKER, found), encoding="utf-8")


if __name__ == "__main__":
    main()
