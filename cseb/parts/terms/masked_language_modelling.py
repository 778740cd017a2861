"""MLM: the encoder continues masked-language modelling while it learns sentence vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AutoModelForMaskedLM

from cseb.encoder.interface import LANGUAGE, EncodedView, Shape
from cseb.errors import BadData, first_line
from cseb.methods.option_types import Count, Rate
from cseb.parts import ALL, LossInputs, Reads, reads
from cseb.parts.base import LossTerm
from cseb.parts.contract_checks import check_masked_lm

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
