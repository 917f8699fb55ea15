"""Whether a client can work with the decoder that already runs, must replace it, or has to give up."""

import re

from decoder.wire.frames import WireError
from decoder.wire.messages import PROTOCOL, Welcome


def must_replace(welcome: Welcome, version: str) -> bool:
    """True where the running decoder is older than `version` and nobody else uses it.

    Raises WireError, with the remedy, where it speaks another protocol and cannot be replaced.

    >>> must_replace(Welcome(version="0.9.0", pid=7, busy=False), "0.10.0")
    True
    >>> must_replace(Welcome(version="0.9.0", pid=7, busy=True), "0.10.0")
    False
    """
    older = _numbers(welcome.version) < _numbers(version)
    if older and not welcome.busy:
        return True
    if welcome.protocol == PROTOCOL:
        return False
    running = f"the running decoder is draftline {welcome.version} (protocol {welcome.protocol})"
    ours = f"this is {version} (protocol {PROTOCOL})"
    if older:
        raise WireError(f"{running} and other editors use it, {ours}; close them or run `draftline stop`")
    raise WireError(f"{running}, {ours}; update this draftline, or run `draftline stop` to use this one everywhere")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0]))
