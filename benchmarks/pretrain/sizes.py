"""The sizes of pre-trained encoders: layers, width, heads."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.pretrain.masked_words import Bert
from benchmarks.pretrain.next_words import Decoder
from benchmarks.pretrain.objective import Objective

SIZES: Mapping[str, Objective] = {
    "tiny": Bert(2, 128, 2),
    "mini": Bert(4, 256, 4),
    "tiny-decoder": Decoder(2, 128, 2),
}
