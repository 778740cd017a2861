"""Remember in the user's cache folder which encoders have passed their check. Needs no torch."""

from __future__ import annotations

import contextlib
import hashlib
from importlib.metadata import version
from pathlib import Path

from platformdirs import user_cache_path

from cseb.data.weights import encoder_sha256

VERSION = 2  # of the checks in load_check.py


def has_passed(folder: Path, trust_remote_code: bool = False) -> bool:
    """Return whether an encoder with these files has passed with this version of transformers. Raises: BadData."""
    return _marker(folder, trust_remote_code).is_file()


def remember(folder: Path, trust_remote_code: bool = False) -> None:
    """Note that an encoder has passed."""
    marker = _marker(folder, trust_remote_code)
    with contextlib.suppress(OSError):  # the cache only saves time
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()


def _marker(folder: Path, trust_remote_code: bool) -> Path:
    identity = f"{VERSION}\0{version('transformers')}\0{encoder_sha256(folder, str(folder))}\0{trust_remote_code}"
    return user_cache_path("cseb") / "checked" / hashlib.sha256(identity.encode()).hexdigest()
