"""A folder pushed to a hub of our own, through the real client: what arrives, and one line for what is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from cseb.data.hub import check_push, push
from cseb.errors import BadResults, BadSpec
from tests.hub_server import Hub, serving

# the client gives its HTTP library a file in a way that this library does not like any more
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serving(monkeypatch) as result:
        yield result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "README.md").write_text("---\nlibrary_name: sentence-transformers\n---\n\n# A card\n")
    (tmp_path / "1_Pooling" / "config.json").write_text("{}\n")
    (tmp_path / "model.safetensors").write_bytes(bytes(range(256)) * 40)
    return tmp_path


def test_every_file_arrives_in_one_commit_with_large_ones_in_lfs(hub: Hub, folder: Path) -> None:
    assert push(folder, "me/small", message="two words") == f"{hub.address}/me/small"
    there = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert hub.files["me/small"] == there
    assert list(hub.stored.values()) == [there["model.safetensors"]]
    paths = [path for _, path in hub.asked]
    assert paths.index("/api/repos/create") < paths.index("/api/validate-yaml")
    assert paths.count("/api/models/me/small/commit/main") == 1
    assert hub.private == {"me/small": False}


def test_another_push_replaces_files_and_sends_no_weights_again(hub: Hub, folder: Path) -> None:
    push(folder, "me/small")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")
    push(folder, "me/small")
    assert hub.files["me/small"]["README.md"] == b"---\nlicense: mit\n---\n"
    assert [method for method, _ in hub.asked].count("PUT") == 1


def test_a_private_model_never_lands_in_a_public_repository(hub: Hub, folder: Path) -> None:
    push(folder, "me/secret", private=True)
    assert hub.private == {"me/secret": True}
    push(folder, "me/open")
    (folder / "new.txt").write_text("for my eyes only")
    with pytest.raises(BadResults, match="me/open exists and is public; make it private"):
        push(folder, "me/open", private=True)
    assert "new.txt" not in hub.files["me/open"]


def test_what_the_hub_refuses_is_said_with_what_to_do(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadResults, match=r"the hub answered 403 \(.*rights to create.*; this token may not write"):
        push(folder, "you/small")
    hub.rejected = '"license" must be one of a list'
    with pytest.raises(BadResults, match=r'is not pushed: .*"license" must be one of a list'):
        push(folder, "me/small")
    monkeypatch.setenv("HF_TOKEN", "hf_bad")
    with pytest.raises(BadResults, match=r"the hub answered 401 \(.*; the hub does not accept this token; log in"):
        push(folder, "me/small")
    assert hub.files == {}


def test_no_network_is_one_line(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # the port that discards: nobody listens
    with pytest.raises(BadResults, match=r"cannot be reached, run the same command again with a network"):
        push(folder, "me/small")
    assert hub.asked == []


@pytest.mark.parametrize("name", ["small", "me/small/more", "me/../x", "me/a b", "/x", "me/", "me/-x", ""])
def test_a_name_that_is_none_is_refused_before_anything_is_asked(hub: Hub, name: str) -> None:
    with pytest.raises(BadSpec, match="OWNER/NAME is needed"):
        check_push(name)
    assert hub.asked == []


def test_without_a_token_or_offline_nothing_is_tried(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    with pytest.raises(BadResults, match="no token for the hub; log in with `hf auth login`"):
        check_push("me/small")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(BadResults, match="HF_HUB_OFFLINE is set"):
        check_push("me/small")
    assert hub.asked == []
