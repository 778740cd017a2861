"""Batches on a GPU in half precision have a width of a multiple of 8, as far as the encoder has positions."""

from __future__ import annotations

import pytest
import torch

from cseb.encoder.device_batches import padded_width


@pytest.mark.parametrize(
    ("width", "most", "precision", "device", "expected"),
    [
        (17, 512, "bf16", "cuda", 24),
        (24, 512, "fp16", "cuda", 24),
        (510, 510, "fp16", "cuda", 510),
        (17, 0, "bf16", "cuda", 17),  # padding is read
        (17, 512, "fp32", "cuda", 17),
        (17, 512, "tf32", "cuda", 17),
        (17, 512, "bf16", "cpu", 17),
    ],
)
def test_width(width: int, most: int, precision: str, device: str, expected: int) -> None:
    assert padded_width(width, most, precision, torch.device(device)) == expected
