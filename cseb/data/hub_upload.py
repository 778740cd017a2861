"""A folder pushed to the Hugging Face hub, on request only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cseb.errors import BadResults, BadSpec, first_line

LOGIN: Final = "log in with `hf auth login`, or set HF_TOKEN to a token that may write"
ADVICE: Final = {
    401: f"the hub does not accept this token; {LOGIN}",
    403: "this token may not write there; take one that may, or another OWNER",
}


def check(name: str) -> None:
    """Check that a push to this repository can be tried, before anything that takes time.

    Raises: BadSpec for what is no OWNER/NAME; BadResults where nobody is logged in, or the hub is switched off.
    """
    from huggingface_hub import constants, get_token
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # public, and not in its __all__

    try:
        validate_repo_id(name)
        fits = name.count("/") == 1
    except HFValidationError:
        fits = False
    if not fits:
        raise BadSpec(
            f"`push` is {name!r}; OWNER/NAME is needed, of letters, digits, _, single - and ., such as me/my-encoder"
        )
    if constants.HF_HUB_OFFLINE:
        raise BadResults(f"{name} is not pushed: HF_HUB_OFFLINE is set; unset it, and run the same command again")
    if not get_token():
        raise BadResults(f"{name} is not pushed: there is no token for the hub; {LOGIN}")


def push(folder: Path, name: str, *, private: bool = False, message: str = "") -> str:
    """Make the model repository OWNER/NAME if there is none, put the files of a folder into it, and return its address.

    Files of the same names are replaced, in one new commit with this message; others stay. private: nobody else sees
    it; a repository that is public already is left alone. Raises: BadSpec, BadResults, with what the hub answered.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    check(name)
    hub = HfApi()
    try:
        url = hub.create_repo(name, private=private or None, exist_ok=True)
        if private and not hub.model_info(name).private:
            raise BadResults(f"{name} exists and is public; make it private on the hub, or push to another OWNER/NAME")
        with _without_bars():
            hub.upload_folder(repo_id=name, folder_path=folder, commit_message=message or None)
    except BadResults:
        raise
    except HfHubHTTPError as error:
        status = error.response.status_code
        advice = ADVICE.get(status, "if that is no fault of the name, try again later")
        text = error.server_message or first_line(error)
        raise BadResults(f"{name} is not pushed: the hub answered {status} ({text}); {advice}") from error
    except (ValueError, RuntimeError) as error:  # what the card lacks, or what kept a file from its storage
        text = " ".join(f"{error} {error.__cause__ if isinstance(error, RuntimeError) else ''}".split())
        raise BadResults(f"{name} is not pushed: {text}; no file there has changed") from error
    except Exception as error:  # each version of the client has an HTTP library of its own
        raise BadResults(
            f"{name} is not pushed: {hub.endpoint} cannot be reached ({first_line(error)}); with a network, run the "
            "same command again"
        ) from error
    return str(url)


@contextmanager
def _without_bars() -> Iterator[None]:
    """The client draws bars wherever it runs; what listens here draws its own."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
