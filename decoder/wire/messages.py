"""Every message between a client and the decoder: frozen, typed, and free of behaviour.

Text positions are LSP lines (ended by LF, CRLF or CR) and columns in Unicode code points, both from 0.
"""

from dataclasses import dataclass, field
from typing import Literal

PROTOCOL = 2
"""Changes whenever an older peer could misread a message."""

PREFIX_CHARACTERS = 32_000
SUFFIX_CHARACTERS = 8_000
"""How much text around the cursor a `Complete` carries at most."""

Draft = Literal["none", "lookup", "syntax", "model", "auto"]
Finish = Literal["stop", "length", "deadline", "cancelled", "none"]
Multiline = Literal["auto", "always", "never"]
Trigger = Literal["automatic", "invoked", "warm_up"]


@dataclass(frozen=True, slots=True)
class Hello:
    """First message of a client. `token` is needed on loopback TCP only."""

    version: str
    client: str
    protocol: int = PROTOCOL
    token: str = ""


@dataclass(frozen=True, slots=True)
class Welcome:
    """The decoder's answer to `Hello`. `busy` tells whether other clients are connected."""

    version: str
    pid: int
    busy: bool
    protocol: int = PROTOCOL


@dataclass(frozen=True, slots=True)
class Refused:
    """The decoder closes the connection after this; `reason` is one sentence with the remedy."""

    reason: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the target chooses a token; temperature 0 is greedy, top_k 0 and top_p 1 keep the whole vocabulary."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Complete:
    """Asks for the text at the cursor between `prefix` and `suffix`.

    line: the cursor's line in the document; drafts are not taken from the text right around it.
    trigger: `warm_up` only reads the prompt, at low priority, and is answered with nothing.
    comments: whether text is wanted where the cursor is in a comment.
    candidates: how many different texts are wanted at most.
    deadline_ms: from its arrival, after which what is complete is answered; 0 gives all the time.
    draft, gamma (most draft tokens a step), sampling: "auto" or None is what the decoder is configured for.

    A newer request for the same `document` of the same client supersedes an older one.
    """

    id: int
    document: str
    language: str
    prefix: str
    suffix: str
    line: int = 0
    max_tokens: int = 64
    multiline: Multiline = "auto"
    trigger: Trigger = "automatic"
    comments: bool = True
    candidates: int = 1
    deadline_ms: float = 0.0
    draft: Draft = "auto"
    gamma: int | None = None
    sampling: Sampling | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """The client no longer wants the answer to request `id`; the decoder still sends one, `cancelled`."""

    id: int


@dataclass(frozen=True, slots=True)
class Timings:
    """Milliseconds: waiting for the model, evaluating the prompt, generating, and all together."""

    queue: float = 0.0
    prefill: float = 0.0
    decode: float = 0.0
    total: float = 0.0


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """`cached` of the `prompt` tokens were still in the KV cache from an earlier request.

    output: tokens written for this answer; a text that had been written before takes none.
    """

    prompt: int = 0
    cached: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """Draft tokens proposed by one source, and how many of them the target accepted."""

    drafted: int = 0
    accepted: int = 0


@dataclass(frozen=True, slots=True)
class Speculation:
    """What speculation did for one answer.

    Output tokens = steps + accepted, one less where an accepted draft token ended the text.
    """

    steps: int = 0
    drafted: int = 0
    accepted: int = 0
    by_source: dict[str, SourceCounts] = field(default_factory=dict)
    gamma_mean: float = 0.0


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person sees: `text` at the cursor, in place of the `replaces` characters before it, which are blanks."""

    text: str = ""
    replaces: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """Exactly one for every `Complete`. An empty `text` always has a `reason`.

    text, replaces: as in `Shown`. alternatives: other candidates, where several were wanted.
    """

    id: int
    text: str = ""
    replaces: int = 0
    alternatives: tuple[Shown, ...] = ()
    language: str = ""
    model: str = ""
    finish: Finish = "none"
    reason: str = ""
    timings_ms: Timings = Timings()
    tokens: TokenCounts = TokenCounts()
    speculation: Speculation = field(default_factory=Speculation)


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replaces the text from (start_line, start_column) up to (end_line, end_column)."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class BufferOpened:
    """The full text of an open document: when it is opened, and when the decoder asks with `BufferWanted`."""

    document: str
    language: str
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class BufferEdited:
    """Edits in the order they were made, on top of `base_version`."""

    document: str
    base_version: int
    version: int
    edits: tuple[TextEdit, ...]


@dataclass(frozen=True, slots=True)
class BufferClosed:
    """The decoder forgets the document."""

    document: str


@dataclass(frozen=True, slots=True)
class BufferWanted:
    """The decoder's copy does not have `base_version`: it asks for the full text again."""

    document: str


@dataclass(frozen=True, slots=True)
class Feedback:
    """What the person did with the answer to request `id`."""

    id: int
    outcome: Literal["accepted"]


@dataclass(frozen=True, slots=True)
class Silence:
    """Why a client showed nothing in a document without having asked the decoder; kept for `ReasonsQuery`."""

    document: str
    language: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReasonsQuery:
    """Asks for `Reasons`: of all clients' documents, or of the one that is named (by its URI)."""

    document: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """One request that showed nothing. seconds_ago: since it was answered."""

    seconds_ago: float
    document: str
    language: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reasons:
    """The latest requests that showed nothing, the newest first."""

    entries: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class StatusQuery:
    """Asks for a `Status` now; one is also sent after `Welcome` and at every change."""


@dataclass(frozen=True, slots=True)
class Status:
    """State of the decoder. `message` is for people; in state `error` it names the remedy.

    paused: by intent, until something starts it again. A decoder that leaves in good order says so last.
    """

    state: Literal["loading", "ready", "error", "paused"]
    message: str
    model: str = ""
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    """Asks the decoder to finish and leave."""


Request = (
    Hello
    | Complete
    | Cancel
    | BufferOpened
    | BufferEdited
    | BufferClosed
    | Feedback
    | Silence
    | ReasonsQuery
    | StatusQuery
    | Stop
)
Reply = Welcome | Refused | Answer | BufferWanted | Reasons | Status
