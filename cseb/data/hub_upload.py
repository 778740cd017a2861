"""Push a folder to the Hugging Face hub, on request only."""

from __future__ import annotations

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
        valid = name.count("/") == 1
    except HFValidationError:
        valid = False
    if not valid:
        raise BadSpec(
            f"`push` is {name!r}; OWNER/NAME is needed, of letters, digits, _, single - and ., such as me/my-encoder"
        )
    if constants.HF_HUB_OFFLINE:
        raise BadResults(f"{name} is not pushed: HF_HUB_OFFLINE is set; unset it, and run the same command again")
    if not get_token():
        raise BadResults(f"{name} is not pushed: there is no token for the hub; {LOGIN}")


def push(folder: Path, name: str, *, private: bool = False, message: str = "") -> str:
    """Push the files of a folder to the model repository OWNER/NAME, which is made if needed; return its address.

    Files of the same names are replaced, in one new commit with this message; others stay. private: make a new
    repository private; a public one is refused. Raises: BadSpec, BadResults, with the answer of the hub.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    check(name)
    hub = HfApi()
    try:
        url = hub.create_repo(name, private=private or None, exist_ok=True)
        if private and not hub.model_info(name).private:
            raise BadResults(f"{name} exists and is public; make it private on the hub, or push to another OWNER/NAME")
        hub.upload_folder(repo_id=name, folder_path=folder, commit_message=message or None)
    except BadResults:
        raise
    except HfHubHTTPError as error:
        status, text = error.response.status_code, error.server_message or first_line(error)
        advice = ADVICE.get(status, "if the name is right, try again later")
        raise BadResults(f"{name} is not pushed: the hub answered {status} ({text}); {advice}") from error
    except Exception as error:  # each version of the client has an HTTP library of its own
        text = " ".join(f"{error} {error.__cause__ or ''}".split())
        hint = f"if {hub.endpoint} cannot be reached, run the same command again with a network"
        raise BadResults(f"{name} is not pushed: {text[:500]}; {hint}") from error
    return str(url)
