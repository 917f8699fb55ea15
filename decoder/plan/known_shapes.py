"""The shapes of the catalog's models, so that a plan needs no download. Source: each model's published config.json."""

from decoder.plan.shape import Family, ModelShape


def _shapes(
    family: Family, context: int, vocabulary: int, *rows: tuple[str, int, int, int, int, int, int]
) -> dict[str, ModelShape]:
    """Rows of name, layers, hidden, intermediate, heads, key-value heads, head dimension."""
    return {
        name: ModelShape(
            name, family, layers, hidden, intermediate, heads, kv_heads, head_dim, vocabulary, context, name in _TIED
        )
        for name, layers, hidden, intermediate, heads, kv_heads, head_dim in rows
    }


_TIED = ("smollm2-135m", "llama3.2-1b", "qwen2.5-coder-0.5b", "starcoder2-3b")
_8B = (32, 4096, 14336, 32, 8, 128)
_70B = (80, 8192, 28672, 64, 8, 128)

KNOWN_SHAPES: dict[str, ModelShape] = {
    **_shapes("llama", 8192, 49152, ("smollm2-135m", 30, 576, 1536, 9, 3, 64)),
    **_shapes("llama", 8192, 128256, ("llama3-8b", *_8B), ("llama3-70b", *_70B)),
    **_shapes(
        "llama",
        131072,
        128256,
        ("llama3.2-1b", 16, 2048, 8192, 32, 8, 64),
        ("llama3.1-8b", *_8B),
        ("llama3.1-70b", *_70B),
    ),
    **_shapes("qwen2", 32768, 151936, ("qwen2.5-coder-0.5b", 24, 896, 4864, 14, 2, 64)),
    **_shapes(
        "qwen2",
        32768,
        152064,
        ("qwen2.5-coder-7b", 28, 3584, 18944, 28, 4, 128),
        ("qwen2.5-coder-32b", 64, 5120, 27648, 40, 8, 128),
    ),
    **_shapes(
        "starcoder2",
        16384,
        49152,
        ("starcoder2-3b", 30, 3072, 12288, 24, 2, 128),
        ("starcoder2-15b", 40, 6144, 24576, 48, 4, 128),
    ),
    **_shapes(
        "llama",
        16384,
        32016,
        ("codellama-7b", 32, 4096, 11008, 32, 32, 128),
        ("codellama-13b", 40, 5120, 13824, 40, 40, 128),
    ),
    **_shapes(
        "llama",
        16384,
        32000,
        ("codellama-7b-python", 32, 4096, 11008, 32, 32, 128),
        ("codellama-34b", 48, 8192, 22016, 64, 8, 128),
    ),
}
