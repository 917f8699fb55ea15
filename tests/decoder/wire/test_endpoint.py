import os
import stat
import tempfile
from pathlib import Path

import pytest

from decoder.wire.endpoint import Endpoint, private_directory
from decoder.wire.frames import WireError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_directory_is_made_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(private_directory(tmp_path / "runtime")))
    endpoint = Endpoint.default()
    assert endpoint.directory.is_relative_to(tmp_path)
    assert mode(endpoint.directory) == 0o700
    assert Endpoint.default() == endpoint


def test_a_directory_left_open_is_closed(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert mode(private_directory(tmp_path / "open")) == 0o700


@pytest.mark.trap(34)
def test_a_directory_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = private_directory(tmp_path / "foreign")
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(WireError, match=r"foreign is not a directory of yours; remove it or set XDG_RUNTIME_DIR"):
        private_directory(path)


def test_a_link_somebody_may_have_planted_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(WireError, match="is not a directory of yours"):
        private_directory(tmp_path / "link")


def test_what_is_no_directory_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(WireError, match="set XDG_RUNTIME_DIR"):
            private_directory(path)


def test_a_path_too_long_for_a_socket_is_replaced_by_a_short_one_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = []
    for name in ("a" * 120, "b" * 120):
        private_directory(tmp_path / name)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / name))
        found.append(Endpoint.default())
    assert all(len(os.fsencode(endpoint.socket_path)) <= 104 for endpoint in found)
    assert found[0] != found[1], "two users never share one"
    assert mode(found[0].directory) == 0o700


def test_without_a_session_a_directory_of_the_user_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    endpoint = Endpoint.default()
    assert endpoint.directory.parent == tmp_path
    assert str(os.getuid()) in endpoint.directory.name
    assert mode(endpoint.directory) == 0o700


def test_planted_temporary_directories_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # platformdirs raised PermissionError where somebody else had made the directory it falls back to
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    (tmp_path / f"runtime-{os.getuid()}").touch()
    ours = Endpoint.default().directory
    assert mode(ours) == 0o700
    if ours.parent == tmp_path:  # not in the session of a desktop
        ours.rmdir()
        ours.symlink_to(tmp_path)
        with pytest.raises(WireError, match="set XDG_RUNTIME_DIR"):
            Endpoint.default()


def test_an_address_is_private_and_its_token_new_each_time(tmp_path: Path) -> None:
    endpoint = Endpoint(tmp_path, tcp=True)
    token = endpoint.write_address(1234)
    assert endpoint.read_address() == (1234, token)
    assert mode(endpoint.address_path) == 0o600
    assert len(token) >= 32
    assert endpoint.write_address(1234) != token


@pytest.mark.parametrize("content", ["", "1234", "port token", "1 2 3"])
def test_without_a_whole_address_no_decoder_is_there(tmp_path: Path, content: str) -> None:
    endpoint = Endpoint(tmp_path, tcp=True)
    with pytest.raises(ConnectionRefusedError):
        endpoint.read_address()
    endpoint.address_path.write_text(content)
    with pytest.raises(ConnectionRefusedError):
        endpoint.read_address()


def test_clearing_leaves_the_locks(tmp_path: Path) -> None:
    endpoint = Endpoint(tmp_path, tcp=True)
    endpoint.write_address(1)
    endpoint.socket_path.touch()
    endpoint.owner_lock.touch()
    endpoint.clear()
    endpoint.clear()
    assert list(tmp_path.iterdir()) == [endpoint.owner_lock]
