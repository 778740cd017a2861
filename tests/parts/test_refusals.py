"""Parts that do not go with one another, with the encoder or with the subset: one sentence before anything is built.

Values that an option's annotation forbids are refused for every part alike, see tests/methods/test_option_types.py.
"""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cseb.encoder.families import DECODER
from cseb.encoder.interface import ATTENTIONS, BOTH_SIDES, Shape
from cseb.errors import BadSpec, CsebError
from cseb.methods.grammar import parse_method
from cseb.methods.spec import Part, preset
from cseb.parts.base import check_needs
from cseb.training.build import check
from cseb.training.construct import instantiate
from tests.training.small_runs import Tiny

TEACHER = "+outside_teacher(encoder=any)"
SHORT = "+recipe(steps=2,batch_size=4,warmup=0)"

REFUSED: dict[str, dict[str, str]] = {  # by what is wrong: method and message
    "recipe": {
        "simcse+recipe(steps=10,warmup=11)": "warmup is 11 of 10 steps",
        "simcse+recipe(dropout=0)": "dropout: this encoder's dropout rates are all 0",
        "pcl+recipe(dropout=0)": "token_edits: this encoder's dropout rates are all 0",
        "simcse+mined_negatives+recipe(dropout=0)": "mined_negatives: this encoder's dropout rates are all 0",
        "simcse-infonce": "has no loss term",
        "simcse+recipe(schedule=piecewise)": "schedule=piecewise needs rising steps from 0",
        "simcse+recipe(pieces=((0,1.0),))": "others need ()",
        "ct+recipe(pieces=((1,1.0),))": "recipe: pieces is ((1, 1.0),); schedule=piecewise needs rising steps from 0",
        "simcse+recipe(batch=no_duplicates,padding=grouped)": "batch=no_duplicates does not go with padding=grouped",
    },
    "sizes of the encoder": {
        "simcse+ami(layers=(7,8))": "this encoder has layers 0 to 1",
        "simcse+ami(layers=(0,0))": "ami: layers",
        "simcse+ami(layers=())": "ami: layers",
        "msse+reconstruct(heads=5)": "it must divide the width of the encoder, 16",
        "compcse": "compose: first is 256; this encoder's vectors have 16 coordinates",
        "infocse+aux_mlm(frozen_layers=3)": "frozen_layers is 3, this encoder has 2; take no more",
        "l2p-csr+learnt_mask_nce(points=4)": "points is 4: the embedding layer and 3 layers; this encoder has 2",
        "simcse+last_layers(count=3)": "last_layers: count is 3, this encoder has 2 layers; take no more",
        "simcse+lora(targets=('qurey',))": "no linear layer called 'qurey'; did you mean query",
        "promcse+prefix(length=600)": "length is 600, which leaves this encoder fewer than 8 of its 80 positions",
        "bert-whitening": "dimensions is 256, this encoder has 16",
        "bert-flow+flow(levels=5)": "flow: levels is 5, and this encoder's width of 16 has at most 4",
        "mean+remove_components(count=16)": "count is 16, of the encoder's 16 directions; take fewer",
        "mirror+mean_last(test=4)": "mean_last: 4 layers of 2",
        "isbert": "cnn_mean: 3 convolutions cannot divide a width of 16",
        "simcse+group_whiten(groups=3)": "3 groups of 16 features",
        "pcl+peer_encoder(pooler=pretrained)": "cls_pooler: this encoder has no pre-trained pooler",
        "simcse+none+matryoshka(widths=(16,32))": "widths has 32, vectors have 16 numbers",
        "simcse+project(width=8)+matryoshka(widths=(16,8))": "widths has 16, vectors have 8 numbers",
    },
    "two options of a part": {
        "simcse+none+matryoshka(widths=(8,8))": "write different numbers",
        "simcse+none+matryoshka(widths=(8,4),weights=(1.0,))": "1 weights for 2 widths",
        "iscse+smooth(size=4,neighbours=4)": "smooth: neighbours is 4 of size 4",
        "sncse+bidir_margin(least=0.3,most=0.3)": "least must be below most",
        "distillcse+listwise_ce(group=1e-6)": "0 shuffles nothing",
        "msse+dcm(centre=false,deviation=unbiased)": "needs centre=true",
        "simcse+ami(layers=(0,))": "ami: layer_stride needs an even number of layers, not 1",
        "crops+crop(most=0.2)": "crop: most is 0.2",
        "arccse+span_masks(first=0.5)": "span_masks: second is 0.4; it must lie between 0.5 and 1",
        "declutr+spans(shortest=600)": "shortest is 600 and longest 512; take a shortest of at most 512",
        "rcl+entropy_models(phis=())": "phis is ()",
        "rcl+entropy_models(phis=(0.1,0.1))": "write different numbers",
        "pcl+token_edits(edits=())": "token_edits: edits is ()",
        "simcse+word_noise(kinds=(0.3,0.3,0.3,0.3))": "allowed: four probabilities of at least 0 whose sum is 1",
        "simcse+word_noise(kinds=(1.5,-0.5,0.0,0.0))": "four probabilities",
        "simcse+word_noise(snr=(11,6))": "the lower ratio comes first",
        "simcse+word_noise(keep=1.0)": "nothing is noised",
        "compcse+compose(first=8,aggregate=first_last)": "first_last fills coordinates by part",
        "compcse+halves(k=3,extra=adjacent)": "k=2 or extra=none",
        'promptbert+prompts(second="no slot")': "prompts: second is 'no slot'",
        'sncse+negated_prompts(second="[X] [MASK] [MASK]")': "must contain",
        "simcse+score_mse(highest=0.0)": "highest must be above lowest",
    },
    "inputs that are missing": {
        "simcse+paraphrase": "paraphrase: file is missing",
        "simcse+unit_halves+compose": "unit_halves: file is missing",
        "congen": "outside_teacher: encoder is missing; write outside_teacher(encoder=",
        "gcse": "encoder is missing",
        "diffcse+rtd(generator=none)": "rtd: generator is None",
        "diffcse+rtd(generator='./nowhere')": "generator ./nowhere: encoder './nowhere': no such folder",
    },
    "views": {
        "sg-opt+infonce": "infonce compares 2 views of a sentence; identity gives 1",
        "sg-opt+ami(layers=(0,1))": "ami compares 2 views of a sentence; identity gives 1",
        f"multicsr{TEACHER}+pairs": "compares 3 views of a sentence; pairs gives 2",
        "simcse+span_nt_xent-infonce": "span_nt_xent compares 6 views of a sentence; dropout gives 2",
        "arccse+dropout": "triplet needs edited views: 2; dropout gives 0",
        "simcse+bidir_margin": "bidir_margin needs edited views: 1",
        "declutr+spans(anchors=3)": "span_nt_xent reads anchors=2 with positives=2, spans gives anchors=3 with",
        "declutr+span_nt_xent(anchors=3,positives=1)": "reads anchors=3 with positives=1, spans gives anchors=2",
        "tsdae+spans+anchor_mlm(anchors=1,positives=5)": "anchor_mlm reads anchors=1 with positives=5, spans gives",
        "simcse+word_noise+anchor_mlm": "anchor_mlm reads anchors=2 with positives=2, word_noise gives no spans; add",
        "simcse+rank_scores": "rank_scores needs rated pairs, dropout has no ratings; add +rated_pairs",
        "simcse+rated_pairs": "rated_pairs: no term reads its ratings; add +rank_scores, or take +pairs",
        "l2p-csr+multi_dropout": "multi_dropout changes how they are read; take +dropout",
        "scd+attention_dropout": "multi_dropout sets the noise of its views itself; remove attention_dropout",
        "l2p-csr+mask_prompt": "it reads sentences without a prompt; take +cls or +mean",
        "first_last+jsd_local_global": "jsd_local_global: this pooler gives no vectors of tokens; add +cnn_mean",
    },
    "pairs that are no positives": {
        **dict.fromkeys(
            ("ct-bce_pairs+infonce", "ct+alignment", "simcse+random_pairs"), "has pairs of different sentences, too"
        ),
        "cosent+infonce": "infonce takes two views for a positive pair; rated_pairs has pairs with low ratings, too",
        "setfit+alignment": "class_pairs has pairs of two classes, too",
    },
    "composition": {
        "simcse+halves": "halves gives parts of sentences, and nothing composes them; add +compose",
        "simcse+compose": "the views are whole sentences, there is nothing to compose; add +halves",
        "compcse+compose(first=none)+ami(layers=(0,1))": "a composed view has no tokens",
        "compcse+compose(first=none)+mlm": "mlm reads the tokens of a view, and a composed view has none",
        "l2p-csr+halves+compose": "learnt_mask_nce reads the tokens of a view, and a composed view has none",
        "compcse+compose(first=none)+halves(side=anchor)+denoise": "denoise reads the tokens of a view, and a composed",
        "compcse+compose(first=8)+moco": "a queue has whole sentences",
        "compcse+compose(first=none)+halves(side=anchor)+moco": "a queue has whole sentences",
        "compcse+compose(first=none,aggregate=concat_project)+halves(k=3)": "concat_project takes two parts",
        "compcse+compose(first=none,aggregate=first_last)+halves(k=3)": "needs a width that 3 parts divide",
        "rcl+halves+compose": "frozen models embed whole sentences",
    },
    "networks and tuning": {
        "sg-opt+gelu_mlp(width=32)+lora": "l2_to_init reads the encoder's own weights, and lora trains others",
        "pcl-peer_encoder": "kl_peers compares two networks, and there is one; add +peer_encoder",
        "pcl+moco": "queue holds vectors of one network",
        "pcl+smooth": "smooth keeps the state of one network",
        "simcse+lora+moco": "queue follows the weights of the encoder, and lora trains others",
        "mocose+lora": "momentum_nce follows the weights of the encoder",
        "promcse+moco": "queue follows the weights of the encoder, and prefix trains others",
        "promcse+ami(layers=(0,1))": "ami reads attention maps among tokens, and prefix puts others in front",
        "simcse+matryoshka": "this head is dropped at test, so the first numbers behind it are no vector; take +none",
    },
    "frozen models": {
        "rcl-entropy_models": "regulators: there are no frozen models to compare with",
        "gist-self+guided_nce(guide=teacher)": "guided_nce: there are no frozen models to compare with; add",
        "rcl-regulators": "entropy_models: no term uses these models",
        f"simcse{TEACHER}": "outside_teacher: no term uses these models",
        "cls+teacher": "teacher: no term uses these models",
        "simcse+own_teacher": "own_teacher: no term uses these models",
        f"ct{TEACHER}+relational": "outside_teacher: frozen models embed views once, random_pairs draws them anew",
        f"gist+mined_negatives{TEACHER}": "frozen models embed views once",
        "gcse+teacher": "gaussian_nce needs frozen vectors of hard negatives, and teacher has none; take",
        f"distil-l2{TEACHER}+outside_teacher(width=own)": "they have 16, the teacher's 50; take +project(width=50)",
        "distil-l2+own_teacher(width=own)+project(width=20)": "take +project(width=50) or +own_teacher(width=student)",
        f"distil-l2{TEACHER}+project(width=20)": "they have 20, the teacher's 16; take +none",
        f"rankencoder+regulators+relu_mlp(width=3){SHORT}": "relu_mlp gives 3, they have 16; take +none",
        "bert-flow+project": "flow is as wide as the encoder, 16 numbers, and project keeps 1024 at test",
    },
    "parts that no term reads": {
        "arccse+moco": "queue: no term reads its vectors (terms: arc_nce, triplet); take it out",
        "simcse+infonce(negatives=zeroed)+moco": "queue: no term reads its vectors (terms: infonce)",
        "micse-infonce+ami(layers=(0,1))": "queue: no term reads its vectors (terms: ami)",
        "mocose+mlp": "mlp: no term reads what it gives (terms: momentum_nce); take +none",
        "simcse+dcm-infonce": "mlp: no term reads what it gives (terms: dcm)",
        "simcse+triples+nt_xent-infonce": "triples: no term reads more than 2 of its 3 views (terms: nt_xent)",
        "simcse+triples+infonce(form=literal)": "triples: no term reads more than 2 of its 3 views",
        "simcse+repeated(views=4)": "repeated: no term reads more than 3 of its 4 views",
        "simcse+virtual_nt_xent-infonce": "dropout: no term reads more than 1 of its 2 views",
        "simcse+l2_to_init-infonce+none": "dropout: no term reads more than 0 of its 2 views",
        "simcse+span_masks": "span_masks: no term reads more than 0 of its 2 edited views (terms: infonce)",
        "sncse-bidir_margin": "negated_prompts: no term reads more than 0 of its 1 edited views",
        "pcl-kl_peers": "peer_encoder: no term reads two networks (terms: infonce, group_softmax_bce)",
        "simcse+identity+second_encoder+virtual_nt_xent-infonce": "second_encoder: no term reads a second view",
        "simcse+second_encoder+mlm-infonce+none": "second_encoder: no term reads a second view",
        "rcl-regulators+rank_mse": "entropy_models: no term reads more than 1 of its 4 models (terms: infonce, "
        "rank_mse)",
        "mean+moco": "queue: mean trains nothing, so it has no effect",
        "mean+drophead": "drophead: mean trains nothing, so it has no effect",
        "cls+second_encoder": "second_encoder: cls trains nothing",
        "mean+matryoshka": "matryoshka: mean trains nothing",
        "cls+mlp": "mlp: cls is neither trained nor tested with a head; take +none",
    },
    "modernbert": {
        "consert": "embedding_edits: this encoder finds positions itself",
        "promptbert": "this encoder finds positions itself",
        "simcse+lora": "targets is 'qv', this encoder's linear layers are Wqkv, Wo, Wi; name some of these",
        "simcse+drophead": "drophead: this encoder's self-attention cannot be reached",
    },
    "mpnet": {
        "consert": "embedding_edits: this encoder finds positions itself",
        "promcse": "prefix: this encoder's self-attention cannot be reached",
        "simcse+attention_dropout": "attention_dropout: this encoder's self-attention cannot be reached",
    },
    "distilbert": {"simcse+drophead": "drophead: this encoder's self-attention cannot be reached"},
}  # fmt: skip
ROWS = [(group, text, message) for group, rows in REFUSED.items() for text, message in rows.items()]


def refused(text: str, folder: Path, sentences: int | None = None) -> str:
    """Return the message with which a method is refused."""
    with pytest.raises(CsebError) as caught:
        check(parse_method(text).at(1.0), folder, sentences=sentences, teacher_width=lambda stage: 50)
    return str(caught.value)


@pytest.mark.parametrize(("group", "text", "message"), ROWS)
def test_what_does_not_go_together_is_one_sentence(tiny: Tiny, group: str, text: str, message: str) -> None:
    family = group if group in ("modernbert", "mpnet", "distilbert") else "bert"
    assert message in refused(text, tiny(family))


@pytest.mark.parametrize(
    ("text", "sentences", "message"),
    [
        ("simcse+moco", 383, "queue: size is 384, but this subset has 383 sentences"),
        ("bert-whitening+whiten(dimensions=8)", 8, "8 sentences span fewer"),
        ("simcse+whiten(dimensions=16)", 5, "5 sentences span fewer"),
        ("mean+remove_components(count=2,centre=true)", 3, "count is 2, and 3 sentences span 2 at most"),
        ("first_last+rank_mix", 1, "rank_mix: too few sentences to rank, 1; take more"),
        ("bert-flow+flow(levels=2)", 9, "flow: held_out is 0.1, which is none of 9 sentences; take 10 sentences"),
        ("bert-flow+flow(levels=2,held_out=0)", 1, "too few sentences to estimate a variance, 1; take more"),
    ],
)
def test_a_subset_that_is_too_small_is_one_sentence(tiny: Tiny, text: str, sentences: int, message: str) -> None:
    assert message in refused(text, tiny("bert"), sentences)


SHAPE = Shape(8, 2, 2, mask_token=True, pooled=False, dropout=0.1, language=True, folder=Path("anywhere"))


@pytest.mark.parametrize(
    ("part", "lacks", "message"),
    [
        *((name, {"mask_token": False}, "no mask token") for name in ("mlm", "aux_mlm", "enhanced_decoding", "rtd")),
        *((name, {"language": False}, "no masked-LM head") for name in ("mlm", "aux_mlm", "enhanced_decoding")),
        *((name, {"mask_token": False}, "no mask token") for name in ("mask_prompt", "char_span_mask", "span_masks")),
        ("cls_pooler", {}, "no pre-trained pooler"),
        ("crop", {}, "does not say where words start; take +crop(unit=token)"),
        ("halves", {}, "does not say where words start"),
        ("layer_noise", {"layers": 1}, "three groups of layers need 2 layers; this encoder has 1"),
        ("pseudo_tokens", {"heads": 3}, "3 heads cannot share a width of 8; take +cls"),
        ("dropout", {"dropout": 0.0}, "add +recipe(dropout=0.1)"),
    ],
)
def test_what_an_encoder_lacks_is_one_sentence(part: str, lacks: dict[str, Any], message: str) -> None:
    options = tuple((key, value) for key, value in preset(part).options if key != "weight")
    with pytest.raises(BadSpec) as caught:
        instantiate(Part(part, options), replace(SHAPE, **lacks))
    assert str(caught.value).startswith(f"{part}: ")
    assert message in str(caught.value)


def test_masking_characters_in_place_needs_their_places() -> None:
    with pytest.raises(BadSpec, match=r"where tokens lie in a text; take \+char_span_mask\(in_place=false\)"):
        instantiate(preset("char_span_mask"), SHAPE, needs=frozenset({ATTENTIONS}))
    assert not instantiate(preset("char_span_mask"), SHAPE).in_place


@pytest.mark.parametrize("kind", [frozenset, set, tuple, list])
def test_what_a_family_lacks_is_refused_in_any_collection_of_needs(kind: type) -> None:
    part = SimpleNamespace(needs=kind([BOTH_SIDES]))
    with pytest.raises(BadSpec, match="x needs a first token that sees the whole sentence, and"):
        check_needs("pooler", "x", part, replace(SHAPE, family=DECODER))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("simcse+moco", 384),
        ("simcse+infonce(form=literal)+moco", None),
        ("simcse+dcm", None),
        ("cls+mlp(keep=true)", None),
        ("simcse+recipe(steps=0,warmup=0)+moco", None),
        ("simcse+second_encoder", None),
        ("sncse+teacher+listwise_ce", None),
        (f"gcse{TEACHER}", None),
        ("mocose+mean", None),
        ("simcse+word_noise+recipe(dropout=0)", None),
        ("simcse+mlp(keep=true)+matryoshka", None),
        ("compcse+compose(first=none)+denoise", None),  # it reads the tokens of the anchor, which is whole
        ("simcse-sup+whiten(dimensions=16)", 6),  # 18 texts
        (f"rcl+relu_mlp(width=3){SHORT}", None),
        (f"rankencoder+regulators{SHORT}", None),
        (f"distil-relational{TEACHER}+outside_teacher(width=own)", None),
        (f"simcse+listwise_ce{TEACHER}+outside_teacher(width=own)", None),
        (f"distil-l2+project(width=50){TEACHER}+outside_teacher(width=own)", None),
    ],
)
def test_what_goes_together_is_not_refused(tiny: Tiny, text: str, sentences: int | None) -> None:
    check(parse_method(text).at(1.0), tiny("bert"), sentences=sentences, teacher_width=lambda stage: 50)
