"""Prompts as views: where their words stand, what they alone would give, and negation by rule."""

from dataclasses import replace

import pytest
import torch

from cseb.encoder.random_streams import TermGenerators
from cseb.parts.prompt_views import Denoised, Repeated, negate
from cseb.training.batches import Batch, Feed
from cseb.training.build import Built
from cseb.training.objective import Objective
from tests.conftest import SENTENCES
from tests.training.small_runs import Recording, Tiny, batch_of, built_of, run

SMALL = "recipe(steps=2,warmup=0,batch_size=8,eval_every=2,max_length=12)"


def small(tiny: Tiny, text: str, family: str = "bert") -> Built:
    name, *edits = text.split("+", 1)
    return built_of(tiny, "+".join([name, SMALL, *edits]), family)


def batch(built: Built, sentences: list[str] = SENTENCES) -> Batch:
    return next(iter(Feed(built.views, built.encoder, built.recipe, sentences, 0, torch.device("cpu"))))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The cat is not here.", "The cat is here."),
        ("The cat is here.", "The cat is not here."),
        ("It can be that he will.", "It can not be that he will."),
        ("She sings.", "Not She sings."),
        ("He isn't there and isn't here.", "He is there and isn't here."),
        ("We can\u2019t and won't.", "We can and won't."),
        ("They won't.", "They will."),
        ("Not a word was said", "a word was said"),
        ("An island cannot sink", "Not An island cannot sink"),
        ("MIGHT is right", "MIGHT not is right"),
        ("", "Not "),
    ],
)
def test_negation(sentence: str, expected: str) -> None:
    assert negate(sentence) == expected


def test_what_was_put_in_is_taken_out_again() -> None:
    assert [negate(negate(sentence)) for sentence in SENTENCES] == SENTENCES


def test_renderings_follow_the_options(tiny: Tiny) -> None:
    assert small(tiny, "promptbert+prompts(denoise=false)").views.renderings == ()
    assert len(Repeated(views=5).renderings) == len(Repeated(views=5)(SENTENCES)) == 5


@pytest.mark.parametrize(("name", "count"), [("sncse", 3), ("promptbert", 2)])
def test_every_view_has_its_prompt_and_one_mask_token_at_any_length(tiny: Tiny, name: str, count: int) -> None:
    built = small(tiny, name)
    long = [f"{sentence} {' '.join(SENTENCES)}" for sentence in SENTENCES[:8]]
    ids, mask, content, anchor = (field.chunk(count) for field in batch(built, long).fields)
    encoder = built.encoder
    prompts = []
    for view in range(count):
        hidden = ids[view] == encoder.tokenizer.mask_token_id
        assert (hidden.sum(dim=1) == 1).all()
        assert hidden.gather(1, anchor[view][:, None]).all()
        assert (content[view].sum(dim=1) == 10).all()  # 12 with both special tokens
        prompts.append(ids[view][0][(mask[view][0] > 0) & (content[view][0] == 0)].tolist())
    wanted = [built.encoder.pooler.template, *built.views.templates[1:]]
    for prompt, template in zip(prompts, wanted, strict=True):
        assert prompt == encoder.tokenizer(template.replace("[X]", ""))["input_ids"]
    assert len({tuple(prompt) for prompt in prompts}) == 2


def test_the_negation_is_an_edit_and_no_candidate_of_the_contrast(tiny: Tiny) -> None:
    built = small(tiny, "sncse+recipe(max_length=24)")
    term = Recording()
    recorded = replace(built, terms=(replace(built.terms[0], term=term),))
    Objective(recorded)(batch(built), None, TermGenerators(0, torch.device("cpu")))
    (step,) = term.steps
    assert (len(step.views), len(step.edits)) == (2, 1)
    edit = step.edits[0]
    anchors, tokenizer = step.views[0], built.encoder.tokenizer
    for row in range(8):
        said = tokenizer.decode(anchors.ids[row][anchors.content[row].bool()]).replace(" ##", "")
        assert said in SENTENCES
        own = edit.ids[row][edit.content[row].bool()].tolist()
        assert own == tokenizer(negate(said), add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_the_prompt_alone_is_read_where_its_words_stand(tiny: Tiny, family: str) -> None:
    built = small(tiny, "promptbert", family)
    encoder = built.encoder.eval()
    texts = [SENTENCES[0], f"{SENTENCES[1]} {SENTENCES[2]}", SENTENCES[3], "dog"]
    block = batch_of(encoder, texts)
    ids, mask, content, anchor = block
    rendering = built.views.renderings[0]
    assert isinstance(rendering, Denoised)
    result = rendering.prompts(encoder, *block)
    for row in range(4):
        kept = [t for t in range(ids.shape[1]) if mask[row, t] and not content[row, t]]
        positions = torch.tensor([kept]) + rendering.first
        states = encoder.backbone(input_ids=ids[row, kept][None], position_ids=positions).last_hidden_state[0]
        assert torch.allclose(result[row], states[kept.index(int(anchor[row]))], atol=1e-5)
    view = rendering(encoder, *block)
    plain = encoder(*block)
    assert torch.allclose(view.h, plain.h - result, atol=1e-6)
    assert torch.allclose(view.z, encoder.head(plain.h - result), atol=1e-6)
    assert not torch.allclose(result[0], result[1], atol=1e-4)  # another length, other positions
    view.h.sum().backward()


@pytest.mark.parametrize(
    "text",
    [
        "sncse+mean+recipe(max_length=128)",
        "promptbert+prompts(second='What this long sentence means : \"[X]\" is [MASK] .')+recipe(max_length=128)",
        "retromae+mask_prompt",
        "tsdae+mask_prompt+recipe(max_length=128)",
    ],
)
def test_long_sentences_are_cut_so_that_every_prompt_fits(tiny: Tiny, text: str) -> None:
    """The prompt of a view, or of a decoder's input, may be longer than the pooler's; training ended in a traceback."""
    lines = [" ".join([sentence] * 60) for sentence in SENTENCES[:16]]
    run(built_of(tiny, f"{text}+recipe(steps=1,warmup=0,batch_size=8,eval_every=1)"), lines)
