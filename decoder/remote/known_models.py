"""Which prompt family a published model was trained with, by its exact name on the hub: nothing is read into a name."""

_SIZES = {
    "codestral": ("mistralai/Codestral-22B-v0.1",),
    "codellama": (
        *(f"codellama/CodeLlama-{size}-hf" for size in ("7b", "13b")),
        *(f"codellama/CodeLlama-{size}-Instruct-hf" for size in ("7b", "13b")),
    ),
    "deepseek-coder": tuple(f"deepseek-ai/deepseek-coder-{size}-base" for size in ("1.3b", "5.7bmqa", "6.7b", "33b")),
    "qwen2.5-coder": tuple(
        f"Qwen/Qwen2.5-Coder-{size}{kind}"
        for size in ("0.5B", "1.5B", "3B", "7B", "14B", "32B")
        for kind in ("", "-Instruct")
    ),
    "starcoder2": tuple(f"bigcode/starcoder2-{size}" for size in ("3b", "7b", "15b")),
    "starcoder": (
        *(f"bigcode/{name}" for name in ("starcoder", "starcoderbase", "starcoderbase-1b", "starcoderbase-3b")),
        *(f"ibm-granite/granite-{size}-code-base" for size in ("3b", "8b", "20b", "34b")),
    ),
    "prefix": (
        *(f"HuggingFaceTB/SmolLM2-{size}{kind}" for size in ("135M", "360M", "1.7B") for kind in ("", "-Instruct")),
        *(f"meta-llama/Meta-Llama-3-{size}{kind}" for size in ("8B", "70B") for kind in ("", "-Instruct")),
        *(f"meta-llama/Llama-3.1-{size}{kind}" for size in ("8B", "70B", "405B") for kind in ("", "-Instruct")),
    ),
}
KNOWN_MODELS: dict[str, str] = {name: family for family, names in _SIZES.items() for name in names}
"""By the model's name: its family's."""
