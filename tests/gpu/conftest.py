"""Tests on a real GPU; with CSEB_TEST_GPU=simulated on the simulated one. They are skipped where there is none."""

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SIMULATED = os.environ.get("CSEB_TEST_GPU") == "simulated"
if SIMULATED:
    from tests.simulated_gpu.conftest import gpu  # noqa: F401

import torch  # noqa: E402


class Table(list[str]):
    """Rows of times. Each is written at once to the file that CSEB_GPU_TABLE names: a stopped run keeps its rows."""

    def append(self, row: str) -> None:
        super().append(row)
        if file := os.environ.get("CSEB_GPU_TABLE"):
            head = ["| what | precision | seconds | peak, MB |", "| --- | --- | ---: | ---: |"]
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text("\n".join([*head, *self]) + "\n", encoding="utf-8")


@pytest.fixture
def device() -> str:
    """The type of the device: cuda, or that of the simulated GPU."""
    if SIMULATED:
        from tests.simulated_gpu.device import NAME

        return NAME
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    return "cuda"


@pytest.fixture
def waits(device: str) -> Iterator[Callable[[], int]]:
    """A function that returns how often the host has waited for the device so far."""
    if SIMULATED:
        from tests.simulated_gpu.device import waits as counted

        yield counted.total
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield lambda: sum("synchroniz" in str(warning.message) for warning in caught)
        finally:
            torch.cuda.set_sync_debug_mode("default")


@pytest.fixture(scope="session")
def bert_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of an encoder in the shape of BERT-base, with random weights; a narrow one for the simulated GPU."""
    from transformers import AutoModel, AutoTokenizer, BertConfig

    from cseb.data.weights import find_encoder

    folder = tmp_path_factory.mktemp("bert-base")
    tokenizer = AutoTokenizer.from_pretrained(find_encoder("cseb-tiny")[0])
    size = {"hidden_size": 64, "num_hidden_layers": 12, "num_attention_heads": 4, "intermediate_size": 64}
    model = AutoModel.from_config(BertConfig(vocab_size=len(tokenizer), **(size if SIMULATED else {})))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def table() -> list[str]:
    """The rows of times."""
    return Table()
