"""Decoders whose tokens attend to both sides, `bidirectional:ENCODER`, as folders in the user's cache.

The folder has the decoder's own weights and tokenizer, as links, and its configuration with `is_causal` false, which
transformers reads as attention without the causal mask. So what is trained from it and saved says the same of itself,
and other libraries give the same vectors. Source: BehnamGhader et al. 2024 (LLM2Vec), step 1.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from platformdirs import user_cache_path

from cseb.data import bounded, checkpoint
from cseb.data.checkpoint import CONFIG
from cseb.data.files import whole_folder, written
from cseb.errors import BadData

BIDIRECTIONAL = "bidirectional:"  # how their names begin
SWITCH = "is_causal"
PLACE = "XDG_CACHE_HOME names another place"
FAMILIES = ("gpt2", "gpt_neox", "llama", "opt", "qwen3")  # decoders that can be switched, which tests cover


def bidirectional(folder: Path, files: Iterable[Path]) -> Path:
    """Return the folder made of a decoder. files: its tokenizer and weights. Raises: BadData for other families."""
    config = bounded.read_object(folder / CONFIG, checkpoint.LIMIT)
    if (kind := config.get("model_type")) not in FAMILIES:
        raise BadData(
            f"encoder {BIDIRECTIONAL}{folder}: its family is {str(kind)[:40]!r}; attention can be switched in "
            f"{', '.join(FAMILIES)}, and what is no decoder attends to both sides already: leave {BIDIRECTIONAL!r} out"
        )
    text = json.dumps(config | {SWITCH: False}, indent=2, sort_keys=True)
    links = {file.name: file.absolute() for file in files}
    digest = hashlib.sha256(json.dumps([text, {name: str(path) for name, path in links.items()}]).encode())
    made = user_cache_path("cseb") / f"bidirectional-{digest.hexdigest()[:16]}"
    if not made.is_dir():
        with written(f"the encoder {made}", PLACE), whole_folder(made) as part:
            (part / CONFIG).write_text(text, encoding="utf-8")
            for name, path in links.items():
                (part / name).symlink_to(path)
    return made
