"""Backbone, pooler and head as one encoder; its folder is read in loading.py."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from cseb.data.tokens import Padded, Tokens
from cseb.encoder import linear, packing
from cseb.encoder.interface import (
    ATTENTIONS,
    LAYERS,
    PADDING,
    POOLED,
    CountsTokens,
    EncodedView,
    Head,
    Pooler,
    Post,
    Rows,
    States,
    Text,
)
from cseb.encoder.random_streams import random_stream
from cseb.encoder.side_by_side import side_by_side
from cseb.encoder.tokenizer import own_ids
from cseb.errors import BadSpec
from cseb.progress import tell

LONGEST = 512  # tokens of a test sentence when neither tokenizer nor configuration names a limit
# Padded tokens encoded at once when embedding: on a CPU what its cache holds, elsewhere what keeps it busy.
TOKENS_PER_BATCH = {"cpu": 1024, "cuda": 16_384}
SMALLER = 4  # times, when memory has run out

# Which entries of a configuration are dropout rates; families spell them differently.
DROPOUTS = (
    "hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout", "embedding_dropout",
    "mlp_dropout", "hidden_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop",
)  # fmt: skip


class Encoder(nn.Module):
    """Sentences to vectors: `encode` in training, `embed` at test."""

    def __init__(
        self,
        backbone: nn.Module,
        tokenizer: Any,
        pooler: Pooler,
        head: Head,
        needs: frozenset[str] = frozenset(),
        language: Callable[[Tensor], Tensor] | None = None,
        language_weights: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.backbone, self.tokenizer, self.pooler, self.head = backbone, tokenizer, pooler, head
        self.config: Any = backbone.config
        self.needs = needs | pooler.needs
        self.language = language
        self.language_weights = language_weights  # registered here so that they are trained and moved with the rest
        self.post: Post | None = None  # fitted on the training sentences, applied at test
        self.smaller = 1  # times that batches are smaller at test, since memory has run out

    def pool(self, backbone: nn.Module, ids: Tensor, mask: Tensor, anchor: Tensor) -> Tensor:
        """Pooled vectors (B, D) of token ids (B, T) under any copy of the backbone."""
        outputs = self._outputs(backbone, ids, mask, self.pooler.needs)
        return self._pooled(outputs, ids, mask, anchor)

    def forward(
        self, ids: Tensor, mask: Tensor, content: Tensor, anchor: Tensor, spared: frozenset[str] = frozenset()
    ) -> EncodedView:
        """Token ids (B, T) to one encoded view of B sentences. spared: of `needs`, what no term reads of these rows."""
        needs = self.needs - spared | self.pooler.needs
        outputs = self._outputs(self.backbone, ids, mask, needs)
        h = self._pooled(outputs, ids, mask, anchor)
        attentions = outputs.attentions if ATTENTIONS in needs else ()
        if ATTENTIONS in needs and not attentions:
            raise BadSpec("this encoder returns no attention maps; use a method without ami, or another encoder")
        layers = outputs.hidden_states if LAYERS in needs else ()
        return EncodedView(h, self.project(h), ids, mask, content, layers, attentions)

    def project(self, h: Tensor) -> Tensor:
        """Pooled vectors (N, D) through the head: (N, P)."""
        with random_stream("head"):
            return self.head(h)

    def read(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Token ids (N, T) to the token states (N, T, D) of the last layer, without pooling."""
        states: Tensor = self._outputs(self.backbone, ids, mask, self.needs & {PADDING}).last_hidden_state
        return states

    def _outputs(self, backbone: nn.Module, ids: Tensor, mask: Tensor, needs: frozenset[str]) -> Any:
        layers, maps = LAYERS in needs, ATTENTIONS in needs and self.training
        with linear.chosen():
            return packing.outputs(backbone, ids, mask, padding=PADDING in needs, layers=layers, maps=maps)

    def _pooled(self, outputs: Any, ids: Tensor, mask: Tensor, anchor: Tensor) -> Tensor:
        layers = outputs.hidden_states or (outputs.last_hidden_state,)
        pooled = outputs.pooler_output if POOLED in self.needs else None
        with random_stream("pooler"):
            return self.pooler(States(layers, mask, anchor, pooled, ids))

    def tokenise(self, sentences: Sequence[Text], longest: int, template: str = "") -> Tokens:
        """Every sentence, text or own ids, cut to `longest` tokens, special ones included; a prompt comes on top.

        template: of the prompt; the pooler's where there is none.
        """
        before, after = self._specials()
        prompt_before, prompt_after, anchor = self._prompt(len(before), len(after), template or self.pooler.template)
        room = max(longest - len(before) - len(after), 1)
        texts = [text for text in sentences if isinstance(text, str)]
        read = iter(own_ids(self.tokenizer, texts) if texts else [])
        own = (next(read) if isinstance(text, str) else text for text in sentences)
        rows = [[*before, *prompt_before, *ids[:room], *prompt_after, *after] for ids in own]
        starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        flat = np.fromiter((token for row in rows for token in row), dtype=np.int32, count=int(starts[-1]))
        prefix, suffix = len(before) + len(prompt_before), len(prompt_after) + len(after)
        return Tokens(flat, starts, self.tokenizer.pad_token_id or 0, prefix, suffix, anchor)

    def offsets(self, sentences: Sequence[str]) -> list[list[tuple[int, int]]]:
        """First character and the one behind the last of every token of every sentence's own, uncut."""
        found = self.tokenizer(list(sentences), add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return found["offset_mapping"]  # type: ignore[no-any-return]

    def _specials(self) -> tuple[list[int], list[int]]:
        """The ids a tokenizer puts before and after a sentence."""
        bare = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        full = self.tokenizer("a")["input_ids"]
        start = next(i for i in range(len(full)) if full[i : i + len(bare)] == bare)
        return full[:start], full[start + len(bare) :]

    def _prompt(self, before: int, after: int, template: str) -> tuple[list[int], list[int], int]:
        """Ids of the prompt before and after the sentence, and where its mask token stands (Tokens.anchor).

        In a template without [MASK] it is its last token that is read.
        """
        if not template:
            return [], [], 0
        masked = "[MASK]" in template
        template = template.replace("[MASK]", self.tokenizer.mask_token or "")
        left, right = (
            self.tokenizer(piece, add_special_tokens=False)["input_ids"] if piece else []
            for piece in template.split("[X]")
        )
        if not masked:
            return left, right, -1 - after
        mask = self.tokenizer.mask_token_id
        return left, right, before + left.index(mask) if mask in left else right.index(mask) - len(right) - after

    def prompt_tokens(self) -> int:
        """How many tokens the prompt adds to a sentence, 0 without one."""
        return sum(len(ids) for ids in self._prompt(0, 0, self.pooler.template)[:2])

    def limit(self) -> int:
        """Tokens the backbone can place, special ones included."""
        positions = int(getattr(self.config, "max_position_embeddings", LONGEST) or LONGEST)
        # RoBERTa's family starts to count positions behind its padding id
        offset = (self.config.pad_token_id or 0) + 1 if "roberta" in self.config.model_type else 0
        return int(min(self.tokenizer.model_max_length, positions - offset)) - self.prompt_tokens()

    def embed(self, sentences: Sequence[str]) -> npt.NDArray[np.float32]:
        """N sentences to (N, D), same order; longer ones than the backbone can place are cut at `limit`."""
        vectors = self.vectors(self.tokenise(sentences, self.limit()), self.head.keep)
        if self.post is None:
            return vectors
        with torch.inference_mode():
            return self.post(torch.from_numpy(vectors).to(self.device)).cpu().numpy()

    def count(self, texts: Sequence[Text]) -> None:
        """Tell the pooler, if it asks, how often each token stands in these texts."""
        if isinstance(self.pooler, CountsTokens):
            ids = self.tokenise(texts, self.limit()).flat
            self.pooler.count(np.bincount(ids, minlength=self.config.vocab_size))

    def fit(self, texts: Sequence[Text]) -> None:
        """Fit the step after the encoder, if there is one, on the vectors of these texts."""
        if self.post is not None:
            vectors = self.vectors(self.tokenise(texts, self.limit()), self.head.keep)
            with torch.no_grad(), random_stream("post"):
                self.post.fit(torch.from_numpy(vectors).to(self.device))

    @torch.inference_mode()
    def vectors(self, tokens: Tokens, with_head: bool) -> npt.NDArray[np.float32]:
        """N tokenised sentences to (N, D), same order, without dropout.

        When a GPU's memory runs out, smaller batches are tried, once in the life of an encoder: `smaller` says so.
        """
        was_training = self.training
        self.eval()
        try:
            found = self._all(tokens, with_head)
            fits = True
        except torch.OutOfMemoryError:
            if self.smaller > 1:
                raise
            fits = False
        if not fits:  # behind the except block, whose exception keeps the tensors of the failed batch alive
            self.smaller = SMALLER
            if self.device.type != "cpu":
                torch.get_device_module(self.device).empty_cache()
            found = self._all(tokens, with_head)
        self.train(was_training)
        if not found:
            return np.zeros((0, self.config.hidden_size), dtype=np.float32)
        result = np.empty((len(tokens), found[0][1].shape[1]), dtype=np.float32)
        for rows, vectors in found:
            result[rows] = vectors
        return result

    def _all(self, tokens: Tokens, with_head: bool) -> list[tuple[Rows, npt.NDArray[np.float32]]]:
        """The batches, as rows of `tokens`, and their vectors."""

        def one(rows: Rows) -> tuple[Rows, npt.NDArray[np.float32]]:
            return rows, self._some(tokens.batch(rows, self.shortest), with_head)

        batches = list(self._batches(tokens))
        # unknown code may not bear two calls at once
        threads = torch.get_num_threads() if packing.packs(self.backbone) else 1
        found, done = [], 0
        for rows, vectors in side_by_side(one, batches, threads):
            found.append((rows, vectors))
            tell("encoding sentences", done := done + len(rows), len(tokens))
        return found

    def _batches(self, tokens: Tokens) -> Iterator[Rows]:
        """Rows of each batch, the longest sentences first."""
        at_once = TOKENS_PER_BATCH.get(self.device.type, 4096) // self.smaller
        lengths = tokens.lengths()
        order = np.argsort(-lengths, kind="stable")
        at = 0
        while at < len(order):
            width = max(int(lengths[order[at]]), self.shortest)
            yield order[at : (at := at + max(at_once // width, 1))]

    def _some(self, padded: Padded, with_head: bool) -> npt.NDArray[np.float32]:
        ids, mask, _, anchor = tensors(padded, self.device)
        h = self.pool(self.backbone, ids, mask, anchor)
        return (self.head(h) if with_head else h).float().cpu().numpy()

    @property
    def shortest(self) -> int:
        """Positions that the pooler reads even where a sentence has fewer tokens, perhaps none; 1 for most poolers."""
        return getattr(self.pooler, "pad_to", 1)

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return next(self.backbone.parameters()).device

    def attentions(self) -> list[nn.Module]:
        """The self-attention modules, first layer first, where `Shape.open_attention` says they can be reached."""
        return [module for module in self.backbone.modules() if type(module).__name__.endswith("SelfAttention")]

    def twin(self, dropout: float) -> nn.Module:
        """A copy of the backbone with its own dropout rate, in training mode, that no gradient reaches."""
        config = copy.deepcopy(self.config)
        for name in DROPOUTS:
            if hasattr(config, name):
                setattr(config, name, dropout)
        twin = type(self.backbone)(config)
        missing, _ = twin.load_state_dict(self.backbone.state_dict(), strict=False)
        twin = twin.to(self.device).train().requires_grad_(False)
        assert all("pooler" in name for name in missing), missing
        if missing:
            twin.add_module("pooler", None)  # the backbone of a masked-LM model has none
        return twin

    def sibling(self) -> Encoder:
        """A second encoder with equal weights of its own, to be trained as well."""
        backbone, pooler, head = copy.deepcopy((self.backbone, self.pooler, self.head))
        sibling = Encoder(backbone, self.tokenizer, pooler, head, self.needs)
        sibling.post = copy.deepcopy(self.post)
        return sibling

    def peer(self, pooler: Pooler | None) -> Encoder:
        """A second encoder with equal weights of its own and the same head, and its own pooler if one is given."""
        backbone, own = copy.deepcopy((self.backbone, self.pooler))
        return Encoder(backbone, self.tokenizer, pooler or own, self.head, self.needs)

    def save(self, folder: Path) -> None:
        """Write backbone and tokenizer so that AutoModel.from_pretrained(folder) gives the same token states."""
        folder.mkdir(parents=True, exist_ok=True)
        backbone: Any = self.backbone
        backbone.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def tensors(batch: Padded, device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """ids, mask, content, anchor as tensors."""
    fields = (batch.ids, batch.mask, batch.content, batch.anchor)
    ids, mask, content, anchor = (torch.from_numpy(field).to(device, non_blocking=True) for field in fields)
    return ids, mask, content, anchor
