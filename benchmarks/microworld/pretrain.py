"""Make the tiny encoder of the microworld: `python benchmarks/microworld/pretrain.py --out FOLDER --seed 0`.

A WordPiece vocabulary and a small BERT, trained with the masked-language-model loss on generated general text:
single sentences, and pairs of sentences that say the same in other words.
It made `cseb/microworld/encoder`, once; nothing of it is needed to use that encoder.
"""

import argparse
import hashlib
import json
import platform
import string
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import tokenizers
import torch
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch import Tensor
from torch.nn import functional as F
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from cseb.microworld.corpus import general_sentences, retellings, sentences

SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
PAD, CLS, SEP, MASK = 0, 2, 3, 4
POSITIONS = 64
MAX_LENGTH = 48  # tokens of a training row
HELD_OUT = 1000  # sentences on which the masked accuracy is measured


def train_tokenizer(texts: Iterable[str], pieces: int, positions: int = POSITIONS) -> PreTrainedTokenizerFast:
    """An uncased WordPiece tokenizer with at most `pieces` pieces, the five special ones first."""
    names, texts = list(SPECIAL.values()), list(texts)
    scratch = tokenizers.Tokenizer(models.WordPiece(unk_token=SPECIAL["unk"]))
    scratch.normalizer = normalizers.BertNormalizer(lowercase=True)
    scratch.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # The trainer numbers inner letters in the order of a hash table and breaks ties by these numbers. Naming them
    # beforehand makes the vocabulary the same every time; the second tokenizer does not know them as special.
    alphabet = string.ascii_lowercase + string.digits
    met = set(scratch.normalizer.normalize_str(" ".join(sorted(set().union(*texts))))) - set(alphabet)
    beyond = [letter for letter in sorted(met) if _pieces(scratch, f"a{letter}") == [f"a{letter}"]]
    inner = [f"##{letter}" for letter in (*alphabet, *beyond)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=pieces,
        special_tokens=names + inner,
        initial_alphabet=list(alphabet + string.punctuation),
        show_progress=False,
    )
    scratch.train_from_iterator(texts, trainer)
    core = tokenizers.Tokenizer(models.WordPiece(scratch.get_vocab(), unk_token=SPECIAL["unk"]))
    core.normalizer, core.pre_tokenizer = scratch.normalizer, scratch.pre_tokenizer
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    core.decoder = decoders.WordPiece()
    special = {f"{role}_token": name for role, name in SPECIAL.items()}
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=core, model_max_length=positions, **special
    )


def _pieces(tokenizer: tokenizers.Tokenizer, text: str) -> list[str]:
    return [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]


def batches(rows: list[list[int]], size: int, rng: torch.Generator) -> Iterator[Tensor]:
    """Endless batches (size, T) of rows of similar length, 0-padded; every row once per pass."""
    while True:
        order = torch.randperm(len(rows), generator=rng).tolist()
        pools = [order[i : i + 50 * size] for i in range(0, len(order), 50 * size)]
        groups = []
        for pool in pools:
            pool.sort(key=lambda i: len(rows[i]))
            groups += [pool[i : i + size] for i in range(0, len(pool) - size + 1, size)]
        for g in torch.randperm(len(groups), generator=rng).tolist():
            chosen = [torch.tensor(rows[i][:MAX_LENGTH]) for i in groups[g]]
            yield torch.nn.utils.rnn.pad_sequence(chosen, batch_first=True, padding_value=PAD)


def mask_tokens(ids: Tensor, fraction: float, pieces: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Hide a fraction of the real tokens: 80 % as [MASK], 10 % as a random piece, 10 % left as they are.

    ids: (B, T). Returns the disturbed ids (B, T) and a boolean (B, T), true where a piece must be named.
    """
    chosen = (torch.rand(ids.shape, generator=rng) < fraction) & (ids > MASK)
    action = torch.rand(ids.shape, generator=rng)
    random = torch.randint(len(SPECIAL), pieces, ids.shape, generator=rng)
    hidden = torch.where(chosen & (action < 0.8), torch.full_like(ids, MASK), ids)
    return torch.where(chosen & (action >= 0.9), random, hidden), chosen


def states_of(model: BertForMaskedLM, ids: Tensor) -> Tensor:
    """Last states (B, T, D) of padded ids (B, T)."""
    states: Tensor = model.bert(input_ids=ids, attention_mask=(ids != PAD).long()).last_hidden_state
    return states


def train(model: BertForMaskedLM, rows: list[list[int]], options: argparse.Namespace) -> None:
    """`options.steps` updates of AdamW, linear warm-up over 5 % and linear decay to zero."""
    rng = torch.Generator().manual_seed(options.seed)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=options.learning_rate, weight_decay=0.01, betas=(0.9, 0.98), foreach=True
    )
    warmup = max(1, options.steps // 20)
    source = batches(rows, options.batch_size, rng)
    model.train()
    started = time.perf_counter()
    mean = 0.0
    for step in range(options.steps):
        slope = min((step + 1) / warmup, (options.steps - step) / (options.steps - warmup))
        for group in optimizer.param_groups:
            group["lr"] = options.learning_rate * slope
        ids = next(source)
        disturbed, chosen = mask_tokens(ids, options.mask, model.config.vocab_size, rng)
        logits = model.cls(states_of(model, disturbed)[chosen])  # (M, V), the hidden positions only
        loss = F.cross_entropy(logits, ids[chosen])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        mean += (loss.item() - mean) * (0.02 if step else 1.0)
        if (step + 1) % 250 == 0:
            sys.stderr.write(f"step {step + 1} loss {mean:.3f} seconds {time.perf_counter() - started:.0f}\n")


@torch.no_grad()
def masked_accuracy(model: BertForMaskedLM, rows: list[list[int]], seed: int) -> float:
    """Fraction of hidden pieces predicted correctly, on rows kept away from training."""
    rng = torch.Generator().manual_seed(seed + 1)
    model.eval()  # type: ignore[no-untyped-call]
    right = total = 0
    for start in range(0, len(rows), 128):
        part = [torch.tensor(row[:MAX_LENGTH]) for row in rows[start : start + 128]]
        ids = torch.nn.utils.rnn.pad_sequence(part, batch_first=True, padding_value=PAD)
        disturbed, chosen = mask_tokens(ids, 0.15, model.config.vocab_size, rng)
        right += int((model.cls(states_of(model, disturbed)[chosen]).argmax(-1) == ids[chosen]).sum())
        total += int(chosen.sum())
    return right / total


def new_model(pieces: int, options: argparse.Namespace) -> BertForMaskedLM:
    """A BERT with random weights, its vocabulary and position tables as small as the text allows."""
    return BertForMaskedLM(
        BertConfig(
            vocab_size=pieces,
            hidden_size=options.width,
            num_hidden_layers=options.layers,
            num_attention_heads=options.heads,
            intermediate_size=2 * options.width,
            max_position_embeddings=POSITIONS,
            hidden_dropout_prob=0.1,
            attention_probs_dropout_prob=0.1,
            pad_token_id=PAD,
        )
    )


def save(model: BertForMaskedLM, tokenizer: PreTrainedTokenizerFast, facts: dict[str, object], out: Path) -> None:
    """Write the folder beside its final place, then put it there in one move; weights as 16-bit floats.

    The configuration says float32, so that loading widens the weights again.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".encoder-") as scratch:
        fresh, stale = Path(scratch) / "fresh", Path(scratch) / "stale"
        model.half().save_pretrained(fresh)  # type: ignore[no-untyped-call]
        tokenizer.save_pretrained(fresh)
        config = json.loads((fresh / "config.json").read_text(encoding="utf-8"))
        (fresh / "config.json").write_text(json.dumps(config | {"dtype": "float32"}, indent=2) + "\n", encoding="utf-8")
        (fresh / "training.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        for path in fresh.iterdir():
            path.chmod(0o644)
        if out.exists():
            out.rename(stale)
        fresh.rename(out)


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="pretrain.py", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write; an old one is replaced")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sentences", type=int, default=50_000, help="general sentences to train on")
    parser.add_argument("--retellings", type=int, default=80_000, help="pairs of general sentences that say the same")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--batch-size", type=int, default=96)
    parser.add_argument("--learning-rate", type=float, default=4e-3)
    parser.add_argument("--mask", type=float, default=0.3, help="fraction of tokens to hide")
    parser.add_argument("--pieces", type=int, default=4000, help="size of the vocabulary")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(argv)
    options.out = options.out.resolve()  # a link stays, what it names is replaced
    if options.out.exists() and not options.out.is_dir():  # said before training, and before it is moved away
        parser.exit(2, f"--out {options.out} exists and is not a folder; choose another name\n")
    return options


def main(argv: Sequence[str] | None = None) -> None:
    """Write text, train vocabulary and encoder, save both with the facts of their making."""
    options = arguments(argv)
    started = time.perf_counter()
    torch.set_num_threads(options.threads)
    texts = list(general_sentences(options.sentences + HELD_OUT, options.seed))
    tokenizer = train_tokenizer(texts, options.pieces)
    told = list(retellings(options.retellings, options.seed))
    rows = tokenizer(texts)["input_ids"]
    rows += tokenizer([one for one, _ in told], [other for _, other in told])["input_ids"] if told else []
    torch.manual_seed(options.seed)
    model = new_model(len(tokenizer), options)
    train(model, rows[HELD_OUT:], options)
    unseen = tokenizer(list(sentences(HELD_OUT, options.seed)))["input_ids"]
    facts = {
        "command": " ".join(["python benchmarks/microworld/pretrain.py", *(sys.argv[1:] if argv is None else argv)]),
        "options": {name: str(value) if name == "out" else value for name, value in vars(options).items()},
        "corpus": f"general_sentences({len(texts)}, seed={options.seed}), retellings({len(told)}, seed={options.seed})",
        "corpus_sha256": hashlib.sha256("\n".join([*texts, *("\t".join(pair) for pair in told)]).encode()).hexdigest(),
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "masked_accuracy": round(masked_accuracy(model, rows[:HELD_OUT], options.seed), 4),
        "masked_accuracy_new_topics": round(masked_accuracy(model, unseen, options.seed), 4),
        "seconds": round(time.perf_counter() - started),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
        },
    }
    save(model, tokenizer, facts, options.out)
    sys.stderr.write(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
