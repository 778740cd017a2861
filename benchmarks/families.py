"""The table of encoder families and the views and parts that go with them, in docs/guide/encoders.md.

Every family is a random encoder of two layers with the dropout rates that its configuration has by default. A cell says
what the check before a grid says; with `--train` every one that passes is trained for a step as well, in some minutes.
Run it in the root of the repository after a family, a view or a check has changed: python -m benchmarks.families
"""

from __future__ import annotations

import math
import re
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.marked import with_table
from cseb.data.shipped import ENCODERS
from cseb.embedders import find as find_embedder
from cseb.embedders.interface import EncoderOptions
from cseb.encoder.families import DECODER, family_of, network_class
from cseb.errors import BadData, BadSpec
from cseb.methods.grammar import parse_method

ROOT = Path(__file__).parents[1]
PAGE, MARKER = "docs/guide/encoders.md", "families, by benchmarks/families.py"
LIST_MARKER = "families that are checked, by benchmarks/families.py"
WIDTH = 32
NOISE = "+recipe(dropout=0.1)"
SHORT = "+recipe(steps=1,batch_size=8,warmup=0,eval_every=1)"
SENTENCES = [f"{who} {what} near the old {where} on Sunday" for who in ("A man", "The dog", "Nobody", "She")
             for what in ("sings", "was eating") for where in ("station", "river")]  # fmt: skip

# Columns: a heading, and the parts that are added to `simcse+mean`.
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


# Rows of the table of views and parts: a heading, and the `model_type` of the configuration.
ROWS: Mapping[str, str] = {
    "BERT": "bert",
    "RoBERTa": "roberta",
    "XLM-R": "xlm-roberta",
    "ELECTRA": "electra",
    "ALBERT": "albert",
    "DeBERTa-v2": "deberta-v2",
    "DistilBERT": "distilbert",
    "MPNet": "mpnet",
    "ModernBERT": "modernbert",
    "T5": "t5",
    "OPT": "opt",
    "Llama, SmolLM2": "llama",
    "Qwen3": "qwen3",
    "Pythia": "gpt_neox",
}
# All families that are checked: those of the table, and others of transformers.
TYPES = (
    *("albert", "bart", "bert", "big_bird", "blenderbot", "bloom", "camembert", "canine", "convbert", "ctrl"),
    *("data2vec-text", "deberta", "deberta-v2", "distilbert", "electra", "ernie", "esm", "eurobert", "falcon"),
    *("flaubert", "fnet", "funnel", "gemma", "gemma2", "gemma3_text", "gpt2", "gpt_neo", "gpt_neox", "gptj", "ibert"),
    *("jina_embeddings_v3", "layoutlm", "led", "llama", "longformer", "longt5", "luke", "m2m_100", "mamba", "marian"),
    *("mbart", "megatron-bert", "mistral", "mobilebert", "modernbert", "modernbert-decoder", "mpnet", "mra", "mt5"),
    *("nomic_bert", "nystromformer", "olmo", "opt", "pegasus", "perceiver", "phi", "phi3", "qwen2", "qwen3"),
    *("reformer", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "rwkv", "smollm3", "splinter"),
    *("squeezebert", "starcoder2", "switch_transformers", "t5", "umt5", "xlm", "xlm-roberta", "xlm-roberta-xl"),
    *("xlnet", "xmod", "yoso"),
)
COMMON = {
    **{"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64},
    **{"max_position_embeddings": 80, "pad_token_id": 0},
}
ENDS = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
NO_PADDING = {"bos_token_id": None, "eos_token_id": 3, "pad_token_id": None}
# Options of a family beside COMMON; None leaves an option to the family.
HEADS = {"head_dim": 16, "num_key_value_heads": 1}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "albert": {"embedding_size": 16},
    "deberta-v2": {"relative_attention": True},
    "distilbert": {"hidden_dim": 64},
    "electra": {"embedding_size": 16},
    "funnel": {"num_hidden_layers": None, "block_sizes": [1, 1], "d_model": WIDTH, "d_inner": 64, "d_head": 16},
    **dict.fromkeys(("gemma", "gemma2", "gemma3_text", "mistral", "smollm3"), HEADS),
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "gptj": {"rotary_dim": 16},
    "luke": {"entity_vocab_size": 10, "entity_emb_size": 8},
    "mobilebert": {"embedding_size": 16},
    "modernbert": ENDS,
    "modernbert-decoder": {**ENDS, "pad_token_id": 0},
    "opt": {"ffn_dim": 64, "intermediate_size": None, "word_embed_proj_dim": WIDTH},
    "perceiver": {"d_latents": WIDTH, "num_latents": 4, "d_model": WIDTH},
    **dict.fromkeys(("qwen2", "qwen3"), HEADS),
    "reformer": {"axial_pos_embds": False, "attention_head_size": 16, "feed_forward_size": 64},
    "roc_bert": {"shape_vocab_size": 10, "pronunciation_vocab_size": 10},
    "squeezebert": {"embedding_size": WIDTH},
    "xlnet": {"max_position_embeddings": None, "d_head": 16, "d_inner": 64},
}


def made(model_type: str, below: Path, longest: int = 64) -> Path:
    """Return the folder of a random encoder of this family, with its language-model head if it has one.

    longest: tokens of a sentence, for the tokenizer.
    """
    import torch
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    t: Any = transformers
    tokenizer = t.AutoTokenizer.from_pretrained(ENCODERS["cseb-tiny"].folder)
    decoder = family_of(model_type) is DECODER
    if decoder:
        tokenizer = byte_tokenizer()
    options: dict[str, Any] = {**COMMON, **(NO_PADDING if decoder else {}), **OPTIONS.get(model_type, {})}
    options = {name: value for name, value in options.items() if value is not None or name in NO_PADDING}
    make: Any = CONFIG_MAPPING[model_type]
    config = make(**options, vocab_size=len(tokenizer))
    tokenizer.model_max_length = longest
    folder = below / model_type
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        _network(config, decoder).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def byte_tokenizer() -> Any:
    """Return a tokenizer of bytes, without special tokens but an end, as decoders have."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    kind: Any = transformers.PreTrainedTokenizerFast
    return kind(tokenizer_object=tokenizer, eos_token="<|endoftext|>")


def _network(config: Any, decoder: bool) -> Any:
    """Return a random network with its language-model head, or without if there is none."""
    import transformers

    t: Any = transformers
    kind = t.AutoModelForCausalLM if decoder else t.AutoModelForMaskedLM
    if config.is_encoder_decoder or type(config) not in kind._model_mapping:
        kind = network_class(config)
    return kind.from_config(config)


def checked(model_type: str, below: Path) -> str:
    """Return "yes", or the reason why encoders of this family are refused."""
    folder = made(model_type, below, longest=1024)  # more than the network has positions
    try:
        encoder = find_embedder(str(folder), EncoderOptions()).open()
    except BadData as error:
        return str(error).partition(f"{folder}: ")[2]
    vectors = encoder([*SENTENCES, " ".join(SENTENCES * 20)])  # the last one is longer than any limit
    assert vectors.shape == (len(SENTENCES) + 1, WIDTH) and np.isfinite(vectors).all()
    return "yes"


def verdict(folder: Path, edits: str) -> str:
    """yes; dropout: only with rates above 0, which this family does not have by default; no."""
    from cseb.training.build import check

    for said, noise in (("yes", ""), ("dropout", NOISE)):
        try:
            check(parse_method(f"{_base(edits)}{edits}{noise}{SHORT}").at(1.0), folder)
        except BadSpec:
            continue
        return said
    return "no"


def _base(edits: str) -> str:
    return "simcse" if "mask_prompt" in edits else "simcse+mean"


def trained(folder: Path, edits: str, said: str) -> bool:
    """Whether one step has a finite loss and gradient."""
    from cseb.training.build import build
    from cseb.training.loop import train

    method = parse_method(f"{_base(edits)}{edits}{NOISE if said == 'dropout' else ''}{SHORT}").at(1.0)
    found = train(build(method, folder, seed=0), SENTENCES, 0, "cpu", None, lambda look: None)
    finite = all(bool(value.isfinite().all()) for value in found.last.values() if value.is_floating_point())
    return finite and all(math.isfinite(loss) for _, loss, _ in found.curve)


def family_list(below: Path) -> str:
    """Return Markdown: the families that pass the check of an encoder, and the reasons why others are refused."""
    reasons = {model_type: checked(model_type, below) for model_type in TYPES}
    passed = ", ".join(f"`{model_type}`" for model_type, reason in reasons.items() if reason == "yes")
    # How much the vectors of random weights differ depends on the machine.
    reasons = {model_type: re.sub(r", by [\d.]+ % for '[^']*',", ",", reason) for model_type, reason in reasons.items()}
    refused = [f"| `{model_type}` | {reason} |" for model_type, reason in reasons.items() if reason != "yes"]
    return "\n".join(["| family | result |", "| --- | --- |", f"| {passed} | supported |", *refused])


def table(cells: Mapping[str, list[str]]) -> str:
    """Markdown; a row for each family."""
    lines = [f"| family | {' | '.join(COLUMNS)} |", f"| --- |{' --- |' * len(COLUMNS)}"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(row)} |" for name, row in cells.items())])


def made_table(below: Path, train: bool) -> str:
    """The table, from encoders that are put below this folder; train: raise RuntimeError where a cell does not."""
    cells: dict[str, list[str]] = {}
    for name, model_type in ROWS.items():
        folder = made(model_type, below)
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
        text = with_table(page.read_text(encoding="utf-8"), MARKER, made_table(Path(below), "--train" in sys.argv))
        text = with_table(text, LIST_MARKER, family_list(Path(below)))
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
