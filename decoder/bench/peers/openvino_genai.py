"""OpenVINO GenAI on the CPU: plain, or with its prompt lookup."""

import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from decoder.bench.peers.gguf_file import gguf_file
from decoder.bench.peers.names import PeerName
from decoder.bench.peers.peer import PeerError, PeerRun, PeerSettings, Ready

LOOKUP_TOKENS, LOOKUP_NGRAM = 5, 3
"""Draft length and longest n-gram of its documentation's example."""

_KV_GIGABYTES = 1


class OpenVinoGenAi:
    """Its pipeline with paged attention, on a GGUF file that it reads itself."""

    def __init__(self, name: PeerName, settings: PeerSettings) -> None:
        self._name = name
        self._settings = settings
        self._pipeline: Any = None
        self._genai: Any = None

    def load(self) -> Ready:
        """As `Peer.load`."""
        try:
            import openvino_genai

            versions = {package: version(package) for package in ("openvino", "openvino-genai")}
        except (ImportError, PackageNotFoundError) as error:
            raise PeerError(f"openvino-genai cannot be imported ({error}): run `make peers`") from error
        self._genai = openvino_genai
        scheduler = openvino_genai.SchedulerConfig()
        scheduler.cache_size = _KV_GIGABYTES
        scheduler.enable_prefix_caching = False  # every prompt is cold
        scheduler.max_num_batched_tokens = self._settings.context_tokens
        started = time.perf_counter()
        file = gguf_file(Path(self._settings.model), self._name.precision, Path(self._settings.cache))
        preparing = time.perf_counter() - started
        options = {"INFERENCE_NUM_THREADS": self._settings.threads, "ENABLE_MMAP": False}
        lookup = {"prompt_lookup": True} if self._name.mode == "lookup" else {}
        self._pipeline = openvino_genai.LLMPipeline(str(file), "CPU", scheduler_config=scheduler, **options, **lookup)
        return Ready(versions, preparing)

    def continue_(self, prompt_ids: Sequence[int], max_tokens: int) -> PeerRun:
        """As `Peer.continue_`, timed by its own metrics."""
        import openvino

        output = self._pipeline.generate(openvino.Tensor(np.array([prompt_ids], np.int64)), self._config(max_tokens))
        tokens, metrics = tuple(map(int, output.tokens[0])), output.perf_metrics
        prefill_ms = metrics.get_ttft().mean
        decode_ms = metrics.get_generate_duration().mean - prefill_ms
        return PeerRun(tokens, len(tokens) - 1, prefill_ms / 1000, decode_ms / 1000)

    def _config(self, max_tokens: int) -> Any:
        config = self._genai.GenerationConfig()
        config.max_new_tokens = max_tokens
        config.do_sample = False
        config.apply_chat_template = False
        config.stop_token_ids = set(self._settings.stop_ids)
        if self._name.mode == "lookup":
            config.num_assistant_tokens, config.max_ngram_size = LOOKUP_TOKENS, LOOKUP_NGRAM
        return config
