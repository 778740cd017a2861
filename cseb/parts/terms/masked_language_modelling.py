"""Masked-language modelling beside the contrast: of the encoder, of the next token (MNTP), of a further network."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from cseb.data.bidirectional import BIDIRECTIONAL, SWITCH
from cseb.encoder import tokenizer as tokenizers
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import BOTH_SIDES, LANGUAGE, EncodedView, Shape
from cseb.encoder.loading import LANGUAGE_HEADS, LanguageWeights, configuration
from cseb.errors import BadData, BadSpec, first_line
from cseb.methods.option_types import Count, DropoutRate, Rate
from cseb.parts import ALL, LossInputs, Reads, reads
from cseb.parts.base import EncoderPart, LossTerm, check_masked_lm
from cseb.parts.heads import INITIAL_SPREAD, start_as_bert, times_width

HIDDEN, SWAPPED = 0.8, 0.1  # of the selected tokens; the rest stay as they are. Source: Devlin et al. 2019, section 3.1
IGNORED = -100  # no token of any vocabulary


def load_masked_lm(path: Path, what: str, cure: str, config: Any = None) -> Any:
    """Return the masked-LM model of a folder, which an error calls `what`. Raises: BadData, which ends with `cure`."""
    try:
        model, info = AutoModelForMaskedLM.from_pretrained(
            path,
            config=config,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
            trust_remote_code=False,
        )
    except Exception as error:  # transformers raises whatever its parsers do
        raise BadData(f"{what} {path}: its masked-LM model cannot be loaded: {first_line(error)}; {cure}") from None
    if missing := sorted(name for name in info["missing_keys"] if "pooler" not in name):
        raise BadData(f"{what} {path}: its masked-LM model lacks weights such as {missing[0]}; {cure}")
    return model


def select(content: Tensor, rate: float, rng: torch.Generator) -> Tensor:
    """Draw a fraction of the sentences' own tokens: a mask (N, T). content: see EncodedView."""
    return (torch.rand(content.shape, generator=rng, device=content.device) < rate) & content.bool()


def corrupt(ids: Tensor, selected: Tensor, mask_id: int, vocabulary: int, rng: torch.Generator) -> Tensor:
    """Return a copy of ids (N, T) with 80 % of the selected tokens hidden, 10 % replaced at random, 10 % unchanged."""
    fate = torch.rand(ids.shape, generator=rng, device=ids.device)
    words = torch.randint(vocabulary, ids.shape, generator=rng, device=ids.device)
    changed = torch.where(
        fate < HIDDEN, torch.full_like(ids, mask_id), torch.where(fate < HIDDEN + SWAPPED, words, ids)
    )
    return torch.where(selected, changed, ids)


def joined(views: Sequence[EncodedView], *fields: str) -> tuple[Tensor, ...]:
    """Return each of these fields of all views, view after view: (V B, ...)."""
    return tuple(torch.cat([getattr(view, field) for view in views]) for field in fields)


def masked_language(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of M selected tokens; 0 if there are none. logits: (M, V), targets: (M,)."""
    return F.cross_entropy(logits, targets, reduction="sum") / max(len(targets), 1)


class MLM(LossTerm):
    """Masked-language modelling in one more pass over masked copies of all views.

    corrupt_contrast: every other term sees the masked copies too; otherwise they keep their clean inputs. rate:
    fraction of the sentence's own tokens that is selected, anew at every step and for every view; special tokens,
    prompt and padding never are. Logits come from the checkpoint's own masked-LM head, at selected tokens alone.
    Source: Devlin et al. 2019, section 3.1; Gao et al. 2021, table D.2; corrupt_contrast: release of Chen et al. 2022.
    Raises: BadSpec on an encoder without a mask token or without that head: the term would start at log V.
    """

    preset: ClassVar = {"weight": 0.1}  # InforMin-CL, table 4; SimCSE, table D.2; Devlin et al. 2019 for the rate
    version: ClassVar[int] = 2
    requires: ClassVar[str] = "masked-LM head"
    needs: ClassVar[frozenset[str]] = frozenset({LANGUAGE})
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("language", views=ALL, tokens=ALL)
    hidden_views: int | None = None  # how many of the first views have tokens hidden; None = all

    def __init__(self, rate: Rate = 0.15, corrupt_contrast: bool = False, *, shape: Shape) -> None:
        self.rate, self.corrupt_contrast = rate, corrupt_contrast
        check_masked_lm("mlm", shape)
        self.mask_id, self.vocabulary = shape.mask_id, shape.vocabulary

    def hide(self, ids: Tensor, content: Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return corrupted ids (N, T) and the original selected ids; IGNORED elsewhere. content: see EncodedView."""
        selected = select(content, self.rate, rng)
        hidden = corrupt(ids, selected, self.mask_id, self.vocabulary, rng)
        return hidden, torch.where(selected, ids, torch.full_like(ids, IGNORED))

    def forward(self, step: LossInputs) -> Tensor:
        assert step.language is not None
        assert step.read is not None
        ids, mask, content = joined(step.views[: self.hidden_views], "ids", "mask", "content")
        if step.targets is None:  # no term has hidden anything yet
            ids, targets = MLM.hide(self, ids, content, step.rng)
        else:
            targets = step.targets[: len(ids)]
        states, selected = step.read(ids, mask), targets != IGNORED
        return masked_language(step.language(states[selected]), targets[selected])


class AnchorMLM(MLM):
    """MLM in the anchors only, which every other term reads with tokens hidden; positives are unchanged.

    rate, and what is hidden: as MLM. anchors, positives: as `spans` has them. Source: Giorgi et al. 2021 (DeCLUTR),
    section 3.2; authors' code. Raises: BadSpec as MLM.
    """

    preset: ClassVar = {"weight": 1.0}  # DeCLUTR release
    version: ClassVar[int] = 1

    def __init__(self, rate: Rate = 0.15, anchors: Count = 2, positives: Count = 2, *, shape: Shape) -> None:
        super().__init__(rate, corrupt_contrast=True, shape=shape)
        self.spans, self.hidden_views = (anchors, positives), anchors
        self.reads: Reads = reads("language", views=anchors, tokens=anchors)  # type: ignore[misc]

    def hide(self, ids: Tensor, content: Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """Hide tokens as MLM does in the first rows, anchors (A B, T) of (V B, T)."""
        rows = len(ids) // (1 + self.spans[1])
        hidden, targets = super().hide(ids[:rows], content[:rows], rng)
        return torch.cat([hidden, ids[rows:]]), torch.cat([targets, torch.full_like(ids[rows:], IGNORED)])


def states_before(states: Tensor, selected: Tensor) -> Tensor:
    """Return the states (M, D), of (N, T, D), before the M selected tokens (N, T), none of them a row's first."""
    return states[:, :-1][selected[:, 1:]]


class MNTP(LossTerm):
    """One more pass over copies of all views with tokens hidden; the state before a hidden token predicts it.

    rate: fraction of the sentence's own tokens that are hidden, anew at every step and for every view, never a text's
    first. blank: the word in their place, since decoders have no mask token; one token of the tokenizer.
    Logits come from the decoder's own output layer: its word embeddings where the two are tied, else a copy that is not
    trained. Source: BehnamGhader et al. 2024 (LLM2Vec), masked next token prediction; authors' code. Raises: BadSpec on
    an encoder that is no decoder or still has its causal mask, and on a blank that is not one token.
    """

    requires: ClassVar[str] = "a decoder"
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads(views=ALL, tokens=ALL)

    # LLM2Vec release
    def __init__(self, rate: Rate = 0.2, blank: str = "_", *, shape: Shape) -> None:
        self.rate, self.folder = rate, shape.folder
        if BOTH_SIDES in shape.family.gives or shape.folder is None:
            raise BadSpec("mntp: this encoder is no decoder; take +mlm")
        if getattr(configuration(shape.folder), SWITCH, True):
            raise BadSpec(f"mntp: its tokens attend to those before them alone; take `encoder` {BIDIRECTIONAL}ENCODER")
        tokenizer = tokenizers.read(shape.folder, trust_remote_code=False)
        ids = tokenizer(blank, add_special_tokens=False)["input_ids"]
        if len(ids) != 1 or ids[0] == tokenizer.unk_token_id:
            raise BadSpec(
                f"mntp: blank is {blank!r}, {len(ids)} known tokens of this tokenizer; take a word that is one"
            )
        self.blank = int(ids[0])

    def setup(self, encoder: Encoder) -> None:
        """Find the output layer."""
        backbone: Any = encoder.backbone
        self.words: list[Any] = [backbone.get_input_embeddings()]  # in a list: the backbone owns them
        self.output: nn.Module | None = None if encoder.config.tie_word_embeddings else output_layer(self.folder)

    def hide(self, ids: Tensor, content: Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return ids (N, T) with blanks, and a mask of these (N, T). content: see EncodedView."""
        selected = select(content, self.rate, rng)
        selected[:, 0] = False
        return torch.where(selected, torch.full_like(ids, self.blank), ids), selected

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats: the mean over hidden tokens."""
        assert step.read is not None
        ids, mask, content = joined(step.views, "ids", "mask", "content")
        hidden, selected = self.hide(ids, content, step.rng)
        states = states_before(step.read(hidden, mask), selected)
        logits = self.output(states) if self.output is not None else F.linear(states, self.words[0].weight)
        return masked_language(logits, ids[selected])


def output_layer(folder: Path | None) -> nn.Module:
    """Return the frozen output layer of a decoder's files."""
    assert folder is not None
    model: Any = AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True, dtype=torch.float32)
    layer: nn.Module = model.get_output_embeddings()
    return layer.requires_grad_(False)


EPSILON = 1e-12  # of the new layers' norms: BERT's


def with_vector_first(states: Tensor, vectors: Tensor) -> Tensor:
    """Replace the first of states (N, T, D), constants, by the unmasked texts' vectors (N, D)."""
    return torch.cat([vectors[:, None].to(states.dtype), states[:, 1:].detach()], dim=1)


def load_first_layers(folder: Path, layers: int) -> Any:
    """Return the masked-LM model of a folder with its first layers only, dropout off. Raises: BadData."""
    config = configuration(folder)
    config.num_hidden_layers = layers
    if kinds := getattr(config, "layer_types", None):  # one entry for each layer, as in ModernBERT
        config.layer_types = kinds[:layers]
    return load_masked_lm(folder, "encoder", "get its files again", config).eval()


class AuxMLM(EncoderPart, LossTerm):
    """A small network predicts masked tokens from weak token states and the sentence vector of the unmasked text.

    The first `frozen_layers` layers of the encoder as loaded, frozen and without dropout, read all views with `rate`
    of their own tokens hidden (80 % as the mask token, 10 % as any word, 10 % as they are). `layers` new Transformer
    layers get these states, with the pooled vector of the unmasked view in place of the first, and a copy of the
    masked-LM head names the hidden tokens. New layers and head are trained, and gone at test; the encoder learns
    through its vector alone. frozen_layers: a number, or "half" of the encoder's. inner: width inside the new layers,
    a number or times the encoder's ("4x"). dropout: of the new layers. Source: Wu et al. 2022 (InfoCSE), authors'
    code; the design of the network is Condenser's (Gao & Callan 2021). Raises: BadSpec on an encoder without a mask
    token or masked-LM head, or with fewer layers; BadData where the masked-LM model cannot be loaded.
    """

    preset: ClassVar = {"weight": 1e-5}  # InfoCSE release: 6 of 12 layers frozen
    version: ClassVar[int] = 2
    requires: ClassVar[str] = "masked-LM head"
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("h", views=ALL, tokens=ALL)
    rate: Rate = 0.4
    frozen_layers: Count | Literal["half"] = "half"
    layers: Count = 2
    inner: Count | str = "4x"
    dropout: DropoutRate = 0.1

    def __post_init__(self) -> None:
        shape = self.shape
        check_masked_lm("aux_mlm", shape)
        self.depth = max(shape.layers // 2, 1) if self.frozen_layers == "half" else self.frozen_layers
        if self.depth > shape.layers:
            raise BadSpec(f"aux_mlm: frozen_layers is {self.depth}, this encoder has {shape.layers}; take no more")
        sizes = (shape.width, shape.heads, times_width(self.inner, shape.width, "aux_mlm: inner"), self.dropout)
        self.new_layers = nn.ModuleList(
            nn.TransformerEncoderLayer(*sizes, F.gelu, EPSILON, batch_first=True) for _ in range(self.layers)
        )
        for layer in self.new_layers:
            layer.dropout = nn.Identity()  # torch has a dropout behind the activation, BERT has none
        for module in self.new_layers.modules():
            if isinstance(module, nn.Linear):
                start_as_bert(module)
            if isinstance(module, nn.MultiheadAttention):  # its three maps in one are no linear layer to torch
                nn.init.normal_(module.in_proj_weight, std=INITIAL_SPREAD)

    def setup(self, encoder: Encoder) -> None:
        """Load the frozen layers and the head from the encoder's files."""
        assert self.shape.folder is not None
        model = load_first_layers(self.shape.folder, self.depth)
        self.frozen: nn.Module = model.base_model.requires_grad_(False)
        # The copy's output layer is no longer tied to the frozen word embeddings, so that it can be trained.
        self.language_weights = copy.deepcopy(LanguageWeights(model)).requires_grad_(True)
        self.language: Callable[[Tensor], Tensor] = LANGUAGE_HEADS[model.config.model_type](self.language_weights)

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats: the mean over the hidden tokens of all views."""
        ids, mask, content, vectors = joined(step.views, "ids", "mask", "content", "h")
        selected = select(content, self.rate, step.rng)
        hidden = corrupt(ids, selected, self.shape.mask_id, self.shape.vocabulary, step.rng)
        states = self.states(hidden, mask, vectors)
        return masked_language(self.language(states[selected]), ids[selected])

    def states(self, ids: Tensor, mask: Tensor, vectors: Tensor) -> Tensor:
        """Return the states (N, T, D) after the new layers, for masked ids (N, T), mask (N, T) and vectors (N, D)."""
        self.frozen.eval()  # also when the method trains
        with torch.no_grad():
            outputs: Any = self.frozen(input_ids=ids, attention_mask=mask, return_dict=True)
        states = with_vector_first(outputs.last_hidden_state, vectors)
        for layer in self.new_layers:
            states = layer(states, src_key_padding_mask=mask == 0)
        return states
