"""Batches on a GPU in half precision have a width of a multiple of 8, as far as the encoder has positions."""

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoConfig, AutoModel

from cseb.encoder.device_batches import cast, padded_width, tensors
from cseb.encoder.tokenizer import Padded


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


@pytest.mark.parametrize(("device", "pinned"), [("cuda", 4), ("cpu", 0)])
def test_a_gpu_gets_pinned_batches_without_a_wait(monkeypatch: pytest.MonkeyPatch, device: str, pinned: int) -> None:
    pins: list[Tensor] = []
    copies: list[tuple[torch.device, bool]] = []

    def to(field: Tensor, where: torch.device, non_blocking: bool = False) -> Tensor:
        copies.append((where, non_blocking))
        return field

    monkeypatch.setattr(Tensor, "pin_memory", lambda field: pins.append(field) or field)
    monkeypatch.setattr(Tensor, "to", to)
    rows = np.arange(6).reshape(2, 3)
    ids, _, _, anchor = tensors(Padded(rows, np.ones_like(rows), rows, rows[:, 0]), torch.device(device))
    assert (ids.tolist(), anchor.tolist()) == (rows.tolist(), [0, 3])
    assert len(pins) == pinned
    assert copies == [(torch.device(device), True)] * 4


def test_half_precision_leaves_what_a_network_computes_from_its_configuration() -> None:
    """Rotary frequencies in half precision misplace tokens far from the start; transformers leaves them, too."""
    config = AutoConfig.for_model(
        "modernbert", vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        pad_token_id=0, max_position_embeddings=600,
    )  # fmt: skip
    torch.manual_seed(0)
    model = AutoModel.from_config(config).eval()
    frequencies = {name: buffer.clone() for name, buffer in model.named_buffers() if "inv_freq" in name}
    cast(model, torch.bfloat16)
    assert frequencies and {each.dtype for each in model.parameters()} == {torch.bfloat16}
    for name, buffer in frequencies.items():
        assert torch.equal(model.get_buffer(name), buffer)
    assert model(torch.arange(9)[None]).last_hidden_state.dtype == torch.bfloat16
