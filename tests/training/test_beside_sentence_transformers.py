"""Whole training runs beside sentence-transformers' own trainer: same data order, no dropout, 30 steps, same update."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import BatchSampler, SequentialSampler
from transformers import BertConfig, BertLMHeadModel

from cseb.methods.grammar import parse_method
from cseb.parts.terms.decoders import Denoise
from cseb.training.batches import Feed
from cseb.training.build import Built, build
from cseb.training.loop import train
from tests.conftest import SENTENCES
from tests.parts.terms.test_denoising import copied

Tiny = Callable[[str], Path]
Weights = Mapping[str, Tensor]
STEPS, BATCH, WARMUP, RATE, LENGTH = 30, 8, 3, 1e-3, 24
RECIPE = (
    f"+recipe(steps={STEPS},batch_size={BATCH},warmup={WARMUP},learning_rate={RATE},max_length={LENGTH},eval_every=30,"
    "optimizer=adamw,schedule=linear,dropout=0.0,last_batch=drop)"
)
PAIRS = list(zip(SENTENCES, SENTENCES[1:] + SENTENCES[:1], strict=True))
RATINGS = [float(number % 6) for number in range(len(PAIRS))]


def losses() -> Any:
    return pytest.importorskip("sentence_transformers.sentence_transformer.losses")


def loaded(folder: Path, pooling: str) -> Any:
    """The encoder of a folder in sentence-transformers, without dropout."""
    library = pytest.importorskip("sentence_transformers")
    modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    without = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    transformer = modules.Transformer(str(folder), max_seq_length=LENGTH, config_kwargs=without)
    return library.SentenceTransformer(
        modules=[transformer, modules.Pooling(transformer.get_embedding_dimension(), pooling)], device="cpu"
    )


def reference_update(model: Any, loss: Any, columns: Mapping[str, Sequence[Any]], folder: Path, clip: float) -> Weights:
    """Train with the trainer of sentence-transformers on rows in this order; return the trained backbone."""
    library = pytest.importorskip("sentence_transformers")
    datasets = pytest.importorskip("datasets")
    arguments = library.SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        **{"max_steps": STEPS, "per_device_train_batch_size": BATCH, "learning_rate": RATE, "warmup_steps": WARMUP},
        **{"lr_scheduler_type": "linear", "optim": "adamw_torch", "weight_decay": 0.0, "max_grad_norm": clip},
        **{"use_cpu": True, "report_to": "none", "save_strategy": "no", "disable_tqdm": True},
        batch_sampler=lambda dataset, batch_size, drop_last, **_: BatchSampler(
            SequentialSampler(dataset), batch_size, drop_last
        ),
    )
    trainer = library.SentenceTransformerTrainer(
        model=model, args=arguments, train_dataset=datasets.Dataset.from_dict(dict(columns)), loss=loss
    )
    trainer.train()
    return model[0].auto_model.state_dict()


def rows_of(built: Built, lines: Sequence[str]) -> list[int]:
    """Numbers of the lines that training reads, in order."""
    feed = Feed(built.views, built.encoder, built.recipe, lines, 0, torch.device("cpu"))
    return [int(row) for rows in feed.rows for row in rows]


def gap(start: Weights, ours: Weights, theirs: Weights) -> float:
    """Norm of the difference of two updates, as a fraction of the norm of one.

    Biases of keys are left out: a softmax does not depend on them, so that Adam enlarges what rounding leaves of their
    gradients.
    """
    names = [name for name in start if name in theirs and "pooler" not in name and not name.endswith("key.bias")]
    assert len(names) > 20
    ours_all, theirs_all = (
        torch.cat([(w[n] - start[n]).flatten() for n in names if w[n].is_floating_point()]) for w in (ours, theirs)
    )
    assert theirs_all.norm() > 0.1
    return float((ours_all - theirs_all).norm() / theirs_all.norm())


def compared(
    method: str,
    folder: Path,
    lines: Sequence[str],
    loss: Callable[[Any], Any],
    columns: Mapping[str, Sequence[Any]],
    tmp_path: Path,
    pooling: str = "mean",
    teacher: Callable[[Sequence[str]], Any] | None = None,
    prepare: Callable[[Built], None] = lambda built: None,
    clip: float = 1.0,
) -> float:
    """The gap of one method and one loss. columns: of all lines, in their order."""
    spec = parse_method(f"{method}{RECIPE}+recipe(clip={clip})").at(1.0)
    order = rows_of(build(spec, folder, 0), lines)
    model = loaded(folder, pooling)
    start = {name: weight.clone() for name, weight in model[0].auto_model.state_dict().items()}
    made = loss(model)
    built = replace(build(spec, folder, 0), teacher=teacher)
    prepare(built)
    ordered = {name: [column[row] for row in order] for name, column in columns.items()}
    theirs = reference_update(model, made, ordered, tmp_path, clip)
    train(built, lines, 0, "cpu", None, lambda progress: None)
    return gap(start, built.encoder.backbone.state_dict(), theirs)


TEXTS = {"anchor": [left for left, _ in PAIRS], "positive": [right for _, right in PAIRS]}
LINES = [f"{left}\t{right}" for left, right in PAIRS]
RATED = [f"{line}\t{rating}" for line, rating in zip(LINES, RATINGS, strict=True)]


@pytest.mark.slow
def test_simcse_is_multiple_negatives_ranking(tiny: Tiny, tmp_path: Path) -> None:
    loss = losses().MultipleNegativesRankingLoss
    assert compared("simcse+pairs+mean+none", tiny("bert"), LINES, loss, TEXTS, tmp_path) < 1e-4


@pytest.mark.slow
def test_matryoshka(tiny: Tiny, tmp_path: Path) -> None:
    def loss(model: Any) -> Any:
        return losses().MatryoshkaLoss(model, losses().MultipleNegativesRankingLoss(model), [16, 8, 4])

    method = "simcse+pairs+mean+none+matryoshka(widths=(16,8,4))"
    assert compared(method, tiny("bert"), LINES, loss, TEXTS, tmp_path) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(("method", "name"), [("cosent", "CoSENTLoss"), ("angle", "AnglELoss")])
def test_rated_pairs(tiny: Tiny, tmp_path: Path, method: str, name: str) -> None:
    columns = {**TEXTS, "score": RATINGS}
    assert compared(method, tiny("bert"), RATED, getattr(losses(), name), columns, tmp_path) < 1e-4


@pytest.mark.slow
def test_setfit_is_cosine_similarity_of_its_pairs(tiny: Tiny, tmp_path: Path) -> None:
    """Six sentences have 240 pairs: all are read once in 30 steps."""
    lines = [f"{sentence}\t{number % 3}" for number, sentence in enumerate(SENTENCES[:6])]
    views = build(parse_method("setfit").at(1.0), tiny("bert"), 0).views
    left, right = views(lines)
    columns = {"left": left, "right": right, "score": getattr(views, "scores", [])}
    assert len(left) == STEPS * BATCH
    assert compared("setfit", tiny("bert"), lines, losses().CosineSimilarityLoss, columns, tmp_path) < 1e-4


@pytest.mark.slow
def test_gist(tiny: Tiny, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    guide = loaded(tiny("bert"), "mean")
    with torch.no_grad():
        for weight in guide.parameters():
            weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(weight.numel())) / 4)
    # No positive is an anchor of another pair: two equal similarities would be above or below by rounding alone.
    texts = {"anchor": TEXTS["anchor"], "positive": [f"{left} {right}" for left, right in PAIRS]}
    lines = [f"{left}\t{right}" for left, right in zip(*texts.values(), strict=True)]
    vectors = compared(
        "gist+mean+outside_teacher(encoder=any)",
        *(tiny("bert"), lines, lambda model: losses().GISTEmbedLoss(model, guide, temperature=0.01), texts, tmp_path),
        teacher=lambda texts: guide.encode(list(texts), show_progress_bar=False),
    )
    assert vectors < 1e-4


@pytest.mark.slow
def test_distillation(tiny: Tiny, tmp_path: Path) -> None:
    table = torch.randn(len(SENTENCES), 16, generator=torch.Generator().manual_seed(0)).numpy()
    numbers = {sentence: number for number, sentence in enumerate(SENTENCES)}
    result = compared(
        "distil-mse+outside_teacher(encoder=any)",
        *(tiny("bert"), SENTENCES, losses().MSELoss),
        {"sentence": SENTENCES, "label": table.tolist()},
        tmp_path,
        teacher=lambda texts: table[[numbers[text] for text in texts]],
    )
    assert result < 1e-4


def decoder_of(folder: Path) -> BertLMHeadModel:
    """A decoder of one layer that attends to one vector by an affine map, with the head of the encoder's checkpoint."""
    config = BertConfig.from_pretrained(folder, is_decoder=True, add_cross_attention=True, num_hidden_layers=1)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    decoder = BertLMHeadModel.from_pretrained(folder, config=config)
    with torch.no_grad():
        out = decoder.bert.encoder.layer[0].crossattention.output.dense
        out.weight.copy_(torch.eye(len(out.weight)))
        out.bias.zero_()
    frozen = (*out.parameters(), decoder.bert.embeddings.token_type_embeddings.weight)  # ours has one table, one map
    for weight in frozen:
        weight.requires_grad_(False)
    return decoder


@pytest.mark.slow
def test_tsdae(tiny: Tiny, tmp_path: Path) -> None:
    """A new decoder beside BERT's with the same weights; encoder and decoder share the embeddings of words.

    Not clipped: their trainer clips the gradient of the encoder alone, ours that of encoder and decoder together.
    """
    library = losses().DenoisingAutoEncoderLoss
    decoder = decoder_of(tiny("bert"))

    def loss(model: Any) -> Any:
        reference = library.__new__(library)
        nn.Module.__init__(reference)
        reference.encoder, reference.decoder, reference.need_retokenization = model, decoder, False
        reference.tokenizer_decoder = model.tokenizer
        words = model[0].auto_model.embeddings.word_embeddings
        decoder.bert.embeddings.word_embeddings = words
        decoder.cls.predictions.decoder.weight = words.weight
        return reference

    def prepare(built: Built) -> None:
        term = built.terms[0].term
        assert isinstance(term, Denoise)
        with torch.no_grad():
            copied(term.decoder, decoder.bert)

    columns = {"noised": TEXTS["positive"], "clean": TEXTS["anchor"]}
    method = "tsdae+pairs+mean+denoise(dropout=0.0,inner=32)"
    assert compared(method, tiny("bert"), LINES, loss, columns, tmp_path, prepare=prepare, clip=0.0) < 1e-4
