import pytest

from decoder.wire.compatibility import must_replace
from decoder.wire.frames import WireError
from decoder.wire.messages import PROTOCOL, Welcome


def running(version: str, *, busy: bool = False, protocol: int = PROTOCOL) -> Welcome:
    return Welcome(version, 7, busy, protocol)


@pytest.mark.parametrize(
    ("theirs", "ours", "replaced"),
    [
        ("0.1.0", "0.1.0", False),
        ("0.1.0", "0.1.1", True),
        ("0.9.0", "0.10.0", True),
        ("0.10.0", "0.9.0", False),
        ("1.0", "1.0.1", True),
        ("1.0", "1.0.0", False),
        ("0.1.0", "0.1.0+local", False),
        ("0.2.0rc1", "0.2.0", True),  # the number of a pre-release made it look newer than the release
        ("0.2.0.dev7", "0.2.0a1", True),
        ("0.2.0", "0.2.0.dev7", False),
        ("unknown", "0.1.0", True),
        ("0.1.0", "unknown", False),
    ],
)
def test_only_an_older_decoder_is_replaced(theirs: str, ours: str, replaced: bool) -> None:
    assert must_replace(running(theirs), ours) is replaced


def test_nobody_elses_decoder_is_taken_away() -> None:
    assert not must_replace(running("0.1.0", busy=True), "0.2.0")


def test_an_idle_older_decoder_of_another_protocol_is_replaced() -> None:
    assert must_replace(running("0.1.0", protocol=PROTOCOL - 1), "0.2.0")


def test_an_idle_decoder_of_an_older_protocol_is_replaced_also_where_the_version_is_the_same() -> None:
    assert must_replace(running("0.2.0", protocol=PROTOCOL - 1), "0.2.0")
    assert must_replace(running("0.2.0", protocol=PROTOCOL), "0.2.0") is False


@pytest.mark.parametrize(
    ("welcome", "remedy"),
    [
        (running("0.1.0", busy=True, protocol=PROTOCOL - 1), "close them or run `draftline stop`"),
        (running("0.2.0", busy=True, protocol=PROTOCOL - 1), "close them or run `draftline stop`"),
        (running("9.0.0", protocol=PROTOCOL + 1), "update this draftline"),
        (running("0.2.0", protocol=PROTOCOL + 1), "update this draftline"),
    ],
)
def test_another_protocol_that_cannot_be_replaced_is_named_with_a_remedy(welcome: Welcome, remedy: str) -> None:
    with pytest.raises(WireError, match=remedy) as caught:
        must_replace(welcome, "0.2.0")
    assert welcome.version in str(caught.value)
    assert f"protocol {welcome.protocol}" in str(caught.value)
