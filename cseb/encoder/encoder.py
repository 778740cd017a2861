"""The encoder: backbone, pooler and head. loading.py reads its folder."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from cseb.encoder import interface, linear, packing
from cseb.encoder.device_batches import TOKENS_PER_BATCH, autocast, in_parallel, padded_width, tensors
from cseb.encoder.distributed import SINGLE_PROCESS
from cseb.encoder.families import position_limit
from cseb.encoder.random_streams import random_stream
from cseb.encoder.tokenizer import Padded, Tokens, own_ids, without_and_with_specials
from cseb.errors import BadSpec
from cseb.progress import ENCODING, tell

REDUCTION = 4  # of the batch size at test, after memory has run out

# Dropout rates in the configurations of all families.
DROPOUTS = (
    "hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout", "embedding_dropout",
    "mlp_dropout", "hidden_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop", "dropout_rate", "embed_dropout",
    "resid_dropout", "residual_dropout",
)  # fmt: skip


class Encoder(nn.Module):
    """Map token ids to encoded views in training (`forward`), and sentences to vectors at test (`embed`)."""

    def __init__(
        self,
        backbone: nn.Module,
        tokenizer: Any,
        pooler: interface.Pooler,
        head: interface.Head,
        needs: frozenset[str] = frozenset(),
        language: Callable[[Tensor], Tensor] | None = None,
        language_weights: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.backbone, self.tokenizer, self.pooler, self.head = backbone, tokenizer, pooler, head
        self.config: Any = backbone.config
        self.positions = position_limit(backbone)
        self.needs = needs | pooler.needs
        self.language = language
        self.language_weights = language_weights  # registered, so that they are trained and moved
        self.prompt = "" if pooler.template else str(getattr(head, "prompt", ""))  # of a finished model
        self.post: interface.Post | None = None  # fitted on the training sentences, applied at test
        self.reduction = 1  # of the batch size at test, see REDUCTION
        self.eval_precision = "fp32"  # at test
        self.distributed = SINGLE_PROCESS  # the processes that all encode the same sentences at test, each a part

    def pool(self, backbone: nn.Module, ids: Tensor, mask: Tensor, anchor: Tensor) -> Tensor:
        """Return the pooled vectors (B, D) of token ids (B, T) under a copy of the backbone."""
        outputs = self._outputs(backbone, ids, mask, self.pooler.needs)
        return self._pooled(outputs, ids, mask, anchor)

    def forward(
        self, ids: Tensor, mask: Tensor, content: Tensor, anchor: Tensor, spared: frozenset[str] = frozenset()
    ) -> interface.EncodedView:
        """Encode token ids (B, T) as one view of B sentences. spared: the `needs` that no term reads of these rows."""
        needs = self.needs - spared | self.pooler.needs
        outputs = self._outputs(self.backbone, ids, mask, needs)
        h = self._pooled(outputs, ids, mask, anchor)
        attentions = outputs.attentions if interface.ATTENTIONS in needs else ()
        if interface.ATTENTIONS in needs and not (attentions and attentions[0].shape[-1] == ids.shape[1]):
            raise BadSpec("this encoder returns no full attention maps; use a method without ami, or another encoder")
        layers = outputs.hidden_states if interface.LAYERS in needs else ()
        return interface.EncodedView(h, self.project(h), ids, mask, content, layers, attentions)

    def project(self, h: Tensor) -> Tensor:
        """Apply the head to pooled vectors: (N, D) to (N, P)."""
        with random_stream("head"):
            return self.head(h)

    def read(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the token states (N, T, D) of the last layer for token ids (N, T)."""
        states: Tensor = self._outputs(self.backbone, ids, mask, self.needs & {interface.PADDING}).last_hidden_state
        return states

    def _outputs(self, backbone: nn.Module, ids: Tensor, mask: Tensor, needs: frozenset[str]) -> Any:
        layers, maps = interface.LAYERS in needs, interface.ATTENTIONS in needs and self.training
        with linear.chosen():
            return packing.outputs(backbone, ids, mask, padding=interface.PADDING in needs, layers=layers, maps=maps)

    def _pooled(self, outputs: Any, ids: Tensor, mask: Tensor, anchor: Tensor) -> Tensor:
        layers = outputs.hidden_states or (outputs.last_hidden_state,)
        pooled = outputs.pooler_output if interface.POOLED in self.needs else None
        with random_stream("pooler"):
            return self.pooler(interface.States(layers, mask, anchor, pooled, ids))

    def tokenise(self, sentences: Sequence[interface.Text], longest: int, template: str = "") -> Tokens:
        """Tokenise texts, or lists of their token ids, and cut them to `longest` tokens, special tokens included.

        template: of the prompt, which is not counted; "" for the pooler's, or else the one of a finished model.
        """
        before, after = self._specials()
        prompt_before, prompt_after, anchor = self._prompt(len(before), len(after), template or self.pooler.template)
        own = [] if template else self._own_prompt()
        room = max(longest - len(before) - len(after), 1) + len(own)
        texts = [self.prompt + text if own else text for text in sentences if isinstance(text, str)]
        text_ids = iter(own_ids(self.tokenizer, texts) if texts else [])
        all_ids = (next(text_ids) if isinstance(text, str) else [*own, *text] for text in sentences)
        rows = [[*before, *prompt_before, *ids[:room], *prompt_after, *after] for ids in all_ids]
        starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        flat = np.fromiter((token for row in rows for token in row), dtype=np.int32, count=int(starts[-1]))
        prefix, suffix = len(before) + len(prompt_before) + len(own), len(prompt_after) + len(after)
        return Tokens(flat, starts, self.tokenizer.pad_token_id or 0, prefix, suffix, anchor)

    def offsets(self, sentences: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the first character and the end of every token of every sentence, uncut, without special tokens."""
        encoded = self.tokenizer(list(sentences), add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return encoded["offset_mapping"]  # type: ignore[no-any-return]

    def _specials(self) -> tuple[list[int], list[int]]:
        """Return the ids that the tokenizer puts before and after a sentence."""
        bare, full = without_and_with_specials(self.tokenizer)
        start = next(i for i in range(len(full)) if full[i : i + len(bare)] == bare)
        return full[:start], full[start + len(bare) :]

    def _prompt(self, before: int, after: int, template: str) -> tuple[list[int], list[int], int]:
        """Return the prompt's ids before and after the sentence, and the place of its mask token (Tokens.anchor).

        Without [MASK] it is the place of the prompt's last token.
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

    def _own_prompt(self) -> list[int]:
        """Return the ids of a finished model's prompt; a blank at its end belongs to the first word of the sentence."""
        return own_ids(self.tokenizer, [self.prompt.rstrip()])[0] if self.prompt else []

    def prompt_tokens(self, template: str | None = None) -> int:
        """Return the number of tokens that the prompt adds to a sentence; `template` in place of the pooler's."""
        template = self.pooler.template if template is None else template
        return sum(len(ids) for ids in (*self._prompt(0, 0, template)[:2], self._own_prompt()))

    def limit(self) -> int:
        """Return the largest number of tokens of a sentence, special ones included, without the prompt."""
        return int(min(self.tokenizer.model_max_length, self.positions)) - self.prompt_tokens()

    def embed(self, sentences: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vectors (N, D) of N sentences, which are cut at `limit` tokens."""
        vectors = self.vectors(self.tokenise(sentences, self.limit()), self.head.keep)
        if self.post is None:
            return vectors
        with torch.inference_mode():
            return self.post(torch.from_numpy(vectors).to(self.device)).cpu().numpy()

    def count(self, texts: Sequence[interface.Text]) -> None:
        """Pass the frequency of each token in these texts to the pooler, if it counts tokens."""
        if isinstance(self.pooler, interface.CountsTokens):
            ids = self.tokenise(texts, self.limit()).flat
            self.pooler.count(np.bincount(ids, minlength=self.config.vocab_size))

    def fit(self, texts: Sequence[interface.Text]) -> None:
        """Fit the post-processor, if there is one, on the vectors of these texts."""
        if self.post is not None:
            vectors = self.vectors(self.tokenise(texts, self.limit()), self.head.keep)
            with torch.no_grad(), random_stream("post"):
                self.post.fit(torch.from_numpy(vectors).to(self.device))

    @torch.inference_mode()
    def vectors(self, tokens: Tokens, with_head: bool) -> npt.NDArray[np.float32]:
        """Return the vectors (N, D) of N tokenised sentences, without dropout.

        When a GPU's memory runs out, batches are reduced once, for good. Processes divide the batches among them.
        """
        was_training = self.training
        self.eval()
        try:
            batches = self._all(tokens, with_head)
            fits = True
        except torch.OutOfMemoryError:
            if self.reduction > 1:
                raise
            fits = False
        if not fits:  # after the except block, whose exception keeps the tensors of the failed batch alive
            self.reduction = REDUCTION
            if self.device.type != "cpu":
                torch.get_device_module(self.device).empty_cache()
            batches = self._all(tokens, with_head)
        self.train(was_training)
        if not batches:
            return np.zeros((0, self.config.hidden_size), dtype=np.float32)
        result = np.zeros((len(tokens), batches[0][1].shape[1]), dtype=np.float32)
        for rows, vectors in batches:
            result[rows] = vectors
        return self.distributed.total(result, sum(len(rows) for rows, _ in batches), self.device)

    def _all(self, tokens: Tokens, with_head: bool) -> list[tuple[interface.Rows, npt.NDArray[np.float32]]]:
        """Return the rows and vectors of every batch of this process."""

        def encode(rows: interface.Rows) -> tuple[interface.Rows, npt.NDArray[np.float32]]:
            width = self.width(int(lengths[rows[0]]), self.eval_precision)  # the first row is the longest
            return rows, self._some(tokens.batch(rows, width), with_head)

        lengths = tokens.lengths()
        shared = self.distributed.share(list(self._batches(tokens)))  # the same in all processes, whatever is reduced
        batches = [part for rows in shared for part in np.array_split(rows, min(self.reduction, len(rows)))]
        threads = torch.get_num_threads() if packing.packs(self.backbone) else 1  # other code may not be thread-safe
        encoded, done = [], 0
        tell(ENCODING, 0, len(tokens))
        for rows, vectors in in_parallel(encode, batches, threads):
            encoded.append((rows, vectors))
            tell(ENCODING, done := done + len(rows), len(tokens))
        return encoded

    def _batches(self, tokens: Tokens) -> Iterator[interface.Rows]:
        """Yield the rows of each batch, the longest sentences first."""
        tokens_per_batch = TOKENS_PER_BATCH.get(self.device.type, 4096)
        lengths = tokens.lengths()
        order = np.argsort(-lengths, kind="stable")
        start = 0
        while start < len(order):
            width = max(int(lengths[order[start]]), self.shortest)
            yield order[start : (start := start + max(tokens_per_batch // width, 1))]

    def _some(self, padded: Padded, with_head: bool) -> npt.NDArray[np.float32]:
        ids, mask, _, anchor = tensors(padded, self.device)
        with autocast(self.device.type, self.eval_precision):
            h = self.pool(self.backbone, ids, mask, anchor)
            return (self.head(h) if with_head else h).float().cpu().numpy()

    def width(self, tokens: int, precision: str) -> int:
        """Return the positions of a batch whose longest sentence has this number of tokens."""
        padding = interface.PADDING in self.needs  # where it is read, its length is part of the method
        most = 0 if padding else self.positions
        return padded_width(max(tokens, self.shortest), most, precision, self.device)

    @property
    def shortest(self) -> int:
        """The least number of positions that the pooler reads; 1 for most poolers."""
        return getattr(self.pooler, "pad_to", 1)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.backbone.parameters()).device

    def attentions(self) -> list[nn.Module]:
        """Return the self-attention modules, first layer first (see `Shape.open_attention`)."""
        return [module for module in self.backbone.modules() if type(module).__name__.endswith("SelfAttention")]

    def twin(self, dropout: float) -> nn.Module:
        """Return a copy of the backbone with another dropout rate, in training mode and without gradients."""
        config = copy.deepcopy(self.config)
        for name in DROPOUTS:
            if hasattr(config, name):
                setattr(config, name, dropout)
        twin = type(self.backbone)(config)
        missing, _ = twin.load_state_dict(self.backbone.state_dict(), strict=False)
        twin = twin.to(self.device).train().requires_grad_(False)
        assert all("pooler" in name for name in missing), missing
        if missing:
            twin.add_module("pooler", None)  # the backbone of a masked-LM model has no pooler
        return twin

    def sibling(self) -> Encoder:
        """Return a second encoder with copies of all weights, to be trained as well."""
        backbone, pooler, head = copy.deepcopy((self.backbone, self.pooler, self.head))
        sibling = Encoder(backbone, self.tokenizer, pooler, head, self.needs)
        sibling.post = copy.deepcopy(self.post)
        return sibling

    def peer(self, pooler: interface.Pooler | None) -> Encoder:
        """Return a second encoder with copies of the weights, the same head, and another pooler if one is given."""
        backbone, own = copy.deepcopy((self.backbone, self.pooler))
        return Encoder(backbone, self.tokenizer, pooler or own, self.head, self.needs)

    def save(self, folder: Path) -> None:
        """Write backbone and tokenizer to a folder that AutoModel reads."""
        folder.mkdir(parents=True, exist_ok=True)
        backbone: Any = self.backbone
        backbone.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
