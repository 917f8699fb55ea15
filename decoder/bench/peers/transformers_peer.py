"""transformers' `generate` on the CPU: plain, with prompt lookup, or assisted by a small model."""

import time
from collections.abc import Sequence
from typing import Any

import torch
import transformers
from transformers.generation.streamers import BaseStreamer

from decoder.bench.peers.names import PeerName
from decoder.bench.peers.peer import PeerError, PeerRun, PeerSettings, Ready

LOOKUP_TOKENS = 10
"""The draft length of its documentation's example."""


class TransformersPeer:
    """As its documentation has it: default attention, weights in ordinary memory."""

    def __init__(self, name: PeerName, settings: PeerSettings) -> None:
        self._mode = name.mode
        self._dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}[name.precision]
        self._settings = settings
        self._target: Any = None
        self._options: dict[str, Any] = {}

    def load(self) -> Ready:
        """As `Peer.load`."""
        if self._mode == "assisted" and not self._settings.draft_model:
            raise PeerError("no draft model of the same vocabulary is configured: set draft_model in config.toml")
        torch.set_num_threads(self._settings.threads)
        transformers.logging.disable_progress_bar()
        self._target = self._model(self._settings.model)
        if self._mode == "lookup":
            self._options = {"prompt_lookup_num_tokens": LOOKUP_TOKENS}
        if self._mode == "assisted":
            draft = self._model(self._settings.draft_model)
            if draft.config.vocab_size != self._target.config.vocab_size:
                raise PeerError(
                    f"the draft model has {draft.config.vocab_size} tokens, the target {self._target.config.vocab_size}"
                )
            self._options = {"assistant_model": draft}
        return Ready({"transformers": transformers.__version__, "torch": torch.__version__})

    def continue_(self, prompt_ids: Sequence[int], max_tokens: int) -> PeerRun:
        """As `Peer.continue_`."""
        prompt = torch.tensor([list(prompt_ids)])
        watch = _Watch()
        stops = list(self._settings.stop_ids)
        started = time.perf_counter()
        with torch.inference_mode():
            output = self._target.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                max_new_tokens=max_tokens,
                do_sample=False,
                eos_token_id=stops or None,
                pad_token_id=stops[0] if stops else 0,
                streamer=watch,
                **self._options,
            )
        ended = time.perf_counter()
        tokens = tuple(output[0, prompt.shape[1] :].tolist())
        return PeerRun(tokens, len(tokens) - watch.num_first, watch.first_at - started, ended - watch.first_at)

    def _model(self, folder: str) -> Any:
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=self._dtype, local_files_only=True)
        for parameter in model.parameters():
            parameter.data = parameter.data.clone()  # a mapped file has no huge pages
        return model.eval()


class _Watch(BaseStreamer):  # type: ignore[misc]  # transformers is not checked
    """Sees the prompt first, then the tokens of each step."""

    def __init__(self) -> None:
        self.first_at = 0.0
        self.num_first = 0
        self._num_calls = 0

    def put(self, value: torch.Tensor) -> None:
        self._num_calls += 1
        if self._num_calls == 2:
            self.first_at, self.num_first = time.perf_counter(), value.numel()

    def end(self) -> None:
        pass
