"""MLM: the encoder continues masked-language modelling while it learns sentence vectors."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.interface import LANGUAGE, Shape
from cseb.errors import BadSpec
from cseb.methods.option_types import Rate
from cseb.parts import ALL, LossInputs, Reads, reads

HIDDEN, SWAPPED = 0.8, 0.1  # of the selected tokens; the rest stay as they are. Source: Devlin et al. 2019, section 3.1
IGNORED = -100  # no token of any vocabulary


def corrupt(ids: Tensor, selected: Tensor, mask_id: int, vocabulary: int, rng: torch.Generator) -> Tensor:
    """Return a copy of ids (N, T) with 80 % of the selected tokens hidden, 10 % replaced at random, 10 % unchanged."""
    fate = torch.rand(ids.shape, generator=rng, device=ids.device)
    words = torch.randint(vocabulary, ids.shape, generator=rng, device=ids.device)
    changed = torch.where(
        fate < HIDDEN, torch.full_like(ids, mask_id), torch.where(fate < HIDDEN + SWAPPED, words, ids)
    )
    return torch.where(selected, changed, ids)


def masked_language(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of M selected tokens; 0 if there are none. logits: (M, V), targets: (M,).

    Source: Devlin et al. 2019, section 3.1; as a further term: Gao et al. 2021, table D.2; InforMin-CL, table 6.
    """
    return F.cross_entropy(logits, targets, reduction="sum") / max(len(targets), 1)


class MLM(nn.Module):
    """Masked-language modelling in one more pass over masked copies of all views.

    corrupt_contrast: every other term sees the masked copies too; otherwise they keep their clean inputs. rate: share
    of the sentence's own tokens that is selected, anew at every step and for every view; special tokens, prompt and
    padding never are. Logits come from the checkpoint's own masked-LM head, at selected tokens alone.
    Source: Devlin et al. 2019, section 3.1; Gao et al. 2021, table D.2; corrupt_contrast: release of Chen et al. 2022.
    Raises: BadSpec on an encoder without a mask token or without that head: the term would start at log V.
    """

    preset: ClassVar = {  # InforMin-CL, table 4; SimCSE, table D.2; Devlin et al. 2019 for the rate
        "weight": 0.1,
        "rate": 0.15,
        "corrupt_contrast": False,
    }
    version: ClassVar[int] = 2
    requires: ClassVar[str] = "masked-LM head"
    needs: ClassVar[frozenset[str]] = frozenset({LANGUAGE})
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("language", views=ALL, tokens=ALL)

    def __init__(self, rate: Rate, corrupt_contrast: bool, shape: Shape) -> None:
        super().__init__()
        self.rate = rate
        self.corrupt_contrast = corrupt_contrast
        if not shape.mask_token:
            raise BadSpec("mlm: this encoder's tokenizer has no mask token; take a method without mlm")
        if not shape.language:
            raise BadSpec(
                "mlm: this encoder's files hold no masked-LM head; take a method without mlm, or its full files"
            )
        self.mask_id, self.vocabulary = shape.mask_id, shape.vocabulary

    def hide(self, ids: Tensor, content: Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return corrupted ids (N, T) and the original selected ids; IGNORED elsewhere. content: see EncodedView."""
        selected = torch.rand(ids.shape, generator=rng, device=ids.device) < self.rate
        selected = selected & content.bool()
        hidden = corrupt(ids, selected, self.mask_id, self.vocabulary, rng)
        return hidden, torch.where(selected, ids, torch.full_like(ids, IGNORED))

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        assert step.language is not None
        assert step.read is not None
        ids, mask, content = (
            torch.cat([getattr(view, name) for view in step.views]) for name in ("ids", "mask", "content")
        )
        ids, targets = (ids, step.targets) if step.targets is not None else self.hide(ids, content, step.rng)
        states, selected = step.read(ids, mask), targets != IGNORED
        return masked_language(step.language(states[selected]), targets[selected])
