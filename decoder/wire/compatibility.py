"""Whether a client can work with the decoder that already runs, must replace it, or has to give up."""

import re

from decoder.wire.frames import WireError
from decoder.wire.messages import PROTOCOL, Welcome

_STAGES = ("dev", "a", "b", "rc", "", "post")
_VERSION = re.compile(rf"(?P<release>\d+(?:\.\d+)*)\.?(?P<stage>{'|'.join(filter(None, _STAGES))}|)(?P<number>\d*)")


def must_replace(welcome: Welcome, version: str) -> bool:
    """True where the running decoder is older than `version`, or of an older protocol, and nobody else uses it.

    Raises WireError, with the remedy, where it speaks another protocol and cannot be replaced.

    >>> must_replace(Welcome(version="0.9.0", pid=7, busy=False), "0.10.0")
    True
    >>> must_replace(Welcome(version="0.9.0", pid=7, busy=True), "0.10.0")
    False
    """
    older = (_age(welcome.version), welcome.protocol) < (_age(version), PROTOCOL)
    if older and not welcome.busy:
        return True
    if welcome.protocol == PROTOCOL:
        return False
    running = f"the running decoder is draftline {welcome.version} (protocol {welcome.protocol})"
    ours = f"this is {version} (protocol {PROTOCOL})"
    if older:
        raise WireError(f"{running} and other editors use it, {ours}; close them or run `draftline stop`")
    raise WireError(f"{running}, {ours}; update this draftline, or run `draftline stop` to use this one everywhere")


def _age(version: str) -> tuple[list[int], int, int]:
    """What orders versions as PEP 440 does: release numbers, then stage, then number of the stage.

    >>> _age("0.2.0.dev3") < _age("0.2rc1") < _age("0.2.0") < _age("0.10")
    True
    """
    found = _VERSION.match(version)
    if found is None:
        return [], 0, 0  # older than anything
    release = [int(number) for number in found["release"].split(".")]
    while release and release[-1] == 0:
        release.pop()
    return release, _STAGES.index(found["stage"]), int(found["number"] or 0)
