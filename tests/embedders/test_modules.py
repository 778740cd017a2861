"""Models of sentence-transformers: their modules are applied, and padding is left out of the arithmetic."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.embedders.modules import AT_ONCE, PADDED_AT_ONCE
from cseb.progress import listening
from tests.conftest import SENTENCES
from tests.embedders.folders import Tiny, call


def test_the_modules_of_the_folder_are_applied(tiny: Tiny) -> None:
    library = pytest.importorskip("sentence_transformers")
    models = pytest.importorskip("sentence_transformers.sentence_transformer.modules")

    transformer = models.Transformer(str(tiny("bert")))
    pooling = models.Pooling(transformer.get_embedding_dimension(), "mean")
    dense = models.Dense(16, 5)
    library.SentenceTransformer(modules=[transformer, pooling, dense, models.Normalize()], device="cpu").save("st")
    embedder = find("st", EncoderOptions())
    values: list[tuple[str, int, int]] = []
    embed = embedder.open()
    with listening(lambda *each: values.append(each)):
        vectors = embed(SENTENCES)
    assert values[0] == ("encoding sentences", 0, len(SENTENCES))
    assert values[-1] == ("encoding sentences", len(SENTENCES), len(SENTENCES))
    assert vectors.shape == (len(SENTENCES), 5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert "modules=('Transformer', 'Pooling', 'Dense', 'Normalize'), normalised=True" in embedder.resolved
    assert find("st:st", EncoderOptions()).source.sha256 == embedder.source.sha256
    plain = find("st", EncoderOptions(pooler="mean"))
    assert plain.open()(SENTENCES).shape == (len(SENTENCES), 16)
    assert plain.method == "mean"
    result = call("st")
    assert result.exit_code == 0, result.output
    (weights,) = Path("st/2_Dense").glob("*.safetensors")
    weights.rename("st/2_Dense/pytorch_model.bin")
    assert "is a pickle, which can run code and is never opened" in call("st").stderr


@pytest.mark.parametrize(("device", "size"), [("cuda", AT_ONCE), ("cpu", PADDED_AT_ONCE)])
def test_a_gpu_encodes_large_batches(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, device: str, size: int) -> None:
    library = pytest.importorskip("sentence_transformers")
    models = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    library.SentenceTransformer(modules=[models.Transformer(str(tiny("bert"))), models.Pooling(16)]).save("st")
    sizes: list[int] = []

    class OnGpu(torch.nn.Sequential):
        """A model with modules that are not packed."""

        def __init__(self, folder: str, **options: object) -> None:
            super().__init__(torch.nn.Identity())
            assert options["device"] == device

        def encode(self, texts: list[str], batch_size: int = 1, **options: object) -> torch.Tensor:
            sizes.append(batch_size)
            return torch.zeros(len(texts), 2)

    monkeypatch.setattr(library, "SentenceTransformer", OnGpu)
    find("st", EncoderOptions(device=device)).open()(SENTENCES)
    assert sizes == [1, size]
    assert AT_ONCE >= 4 * PADDED_AT_ONCE


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mode", ["mean", "max", "cls"])
def test_padding_is_left_out(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, mode: str, threads: int) -> None:
    library = pytest.importorskip("sentence_transformers")
    models = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    from cseb.encoder import packing
    from cseb.encoder.packed import Packed

    transformer = models.Transformer(str(tiny("bert")))
    pooling = models.Pooling(transformer.get_embedding_dimension(), mode)
    model = library.SentenceTransformer(modules=[transformer, pooling], device="cpu")
    model.save("st")
    packed, walked = list[int](), packing._forward

    def watched(backbone: Any, sentences: Packed, layers: bool) -> Any:
        packed.append(len(sentences.ids))
        return walked(backbone, sentences, layers)

    monkeypatch.setattr(packing, "_forward", watched)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        embed = find("st", EncoderOptions()).open()
        packed.clear()  # a look at whether the walk is right comes before
        result = embed(SENTENCES)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert sum(packed) == int(model.preprocess(SENTENCES)["attention_mask"].sum())
    assert len(packed) == threads
    np.testing.assert_allclose(result, model.encode(SENTENCES), rtol=0, atol=1e-6)


def test_without_sentence_transformers_one_line_says_what_to_do(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil
    import sys

    shutil.copytree(tiny("bert"), "st")
    Path("st/modules.json").write_text(
        '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]'
    )
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    result = call("st")
    assert result.exit_code == 2
    assert result.stderr == (
        "cseb: sentence-transformers is not installed: pip install 'cseb[st]', or give --pooler to ignore its modules\n"
    )
