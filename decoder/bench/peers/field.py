"""All peers that take part in a bench: they load one after another, then answer every task in turn."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from decoder.bench.peers.names import PeerName
from decoder.bench.peers.peer import PeerError, PeerRun, PeerSettings
from decoder.bench.peers.process import CONTINUE_SECONDS, WORKER, PeerProcess, environment


@dataclass(frozen=True, slots=True)
class PeerOutcome:
    """One task by one peer. tokens: at most as many as were asked for, to the first end of the text."""

    peer: PeerName
    task_id: str
    tokens: tuple[int, ...]
    prefill_seconds: float
    seconds_per_token: float | None
    """With the prompt cached; None where the text ended at once."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """What became of a peer. load_seconds: from the start of its process; reason: why it is absent or stopped."""

    peer: PeerName
    versions: dict[str, str]
    load_seconds: float
    reason: str = ""


class Field:
    """The peers of one bench, each in its process. Use it in a `with`: whatever happens, no process is left."""

    def __init__(
        self,
        peers: Sequence[PeerName],
        settings: PeerSettings,
        *,
        max_tokens: int,
        command: Sequence[str] = WORKER,
        continue_seconds: float = CONTINUE_SECONDS,
    ) -> None:
        """command: of a peer's process, to which its name is added. continue_seconds: the longest wait for a text."""
        self.settings = settings
        self.environment = environment(settings.threads)
        self.max_tokens = max_tokens
        self._peers = tuple(peers)
        self._command = tuple(command)
        self._continue_seconds = continue_seconds
        self._running: dict[PeerName, PeerProcess] = {}
        self._stack = ExitStack()
        self._turn = 0
        self.entrants: dict[PeerName, Entrant] = {}
        self.outcomes: list[PeerOutcome] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()

    def load(self, told: Callable[[Entrant], None] = lambda _entrant: None) -> None:
        """Starts and loads every peer, in turn; `told` hears of each."""
        for peer in self._peers:
            self.entrants[peer] = self._load(peer)
            told(self.entrants[peer])

    def run(self, task_id: str, prompt_ids: Sequence[int]) -> None:
        """The task by every peer that still runs, a different one first each time. A failing peer ends here."""
        peers = list(self._running)
        start = self._turn % max(1, len(peers))
        self._turn += 1
        for peer in (*peers[start:], *peers[:start]):
            try:
                # one token more: the first comes with the prefill
                run = self._running[peer].continue_(prompt_ids, self.max_tokens + 1)
            except PeerError as error:
                del self._running[peer]
                entrant = self.entrants[peer]
                self.entrants[peer] = Entrant(peer, entrant.versions, entrant.load_seconds, f"task {task_id}: {error}")
            else:
                self.outcomes.append(self._outcome(peer, task_id, run))

    def warm_up(self, prompt_ids: Sequence[int]) -> None:
        """As `run`, without a record: first forwards allocate."""
        self.run("warm-up", prompt_ids)
        self.outcomes.clear()
        self._turn = 0

    def _load(self, peer: PeerName) -> Entrant:
        try:
            process = self._stack.enter_context(self._process(peer))
            ready, seconds = process.load(self.settings)
        except PeerError as error:
            return Entrant(peer, {}, 0.0, str(error))
        self._running[peer] = process
        return Entrant(peer, ready.versions, seconds)

    def _process(self, peer: PeerName) -> PeerProcess:
        return PeerProcess(str(peer), self.environment, command=self._command, continue_seconds=self._continue_seconds)

    def _outcome(self, peer: PeerName, task_id: str, run: PeerRun) -> PeerOutcome:
        tokens = run.tokens[: self.max_tokens]
        end = next((at for at, token in enumerate(tokens, start=1) if token in self.settings.stop_ids), len(tokens))
        pace = run.decode_seconds / run.num_timed if run.num_timed > 0 else None
        return PeerOutcome(peer, task_id, tokens[:end], run.prefill_seconds, pace)
