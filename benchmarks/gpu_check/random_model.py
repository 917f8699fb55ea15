"""A model of real size with random weights, built on its device: nothing is downloaded, nothing passes the host."""

import math
from typing import Any

import torch
import transformers

from benchmarks.gpu_check.pairs import ModelSize
from benchmarks.gpu_check.weight_only import LinearKind
from decoder.torch_model import TorchModel
from drafting.interface import Vocabulary


def random_network(size: ModelSize, device: torch.device, linear: LinearKind | None = None) -> Any:
    """A transformers model in bfloat16; with `linear`, the layers' matrices are of that kind."""
    with torch.device("meta"):
        network = transformers.LlamaForCausalLM(size.config()).to(torch.bfloat16).eval()
    network.requires_grad_(False)
    for parent in list(network.model.modules()):
        for name, child in parent.named_children():
            if linear is not None and isinstance(child, torch.nn.Linear):
                setattr(parent, name, linear(_random(child.weight.shape, device)))
    _materialise(network, device)
    network.model.rotary_emb = type(network.model.rotary_emb)(network.config).to(device)
    return network


def engine(network: Any, size: ModelSize, *, context_length: int, min_rows: int = 8, **settings: Any) -> TorchModel:
    """The engine on it, as it runs on CUDA: fixed blocks, and graphs where there are any."""
    return TorchModel(
        network,
        name=size.name,
        vocabulary=Vocabulary(size.vocabulary, "random"),
        context_length=context_length,
        min_rows=min_rows,
        fixed_shapes=True,
        **settings,
    )


def read_bytes(network: Any) -> int:
    """Bytes that one forward pass reads at least: all weights, but of the embedding only some rows."""
    tensors = [*network.parameters(), *network.buffers()]
    return int(sum(tensor.nbytes for tensor in tensors) - network.get_input_embeddings().weight.nbytes)


def _materialise(network: Any, device: torch.device) -> None:
    for parent in network.modules():
        for name, weight in list(parent.named_parameters(recurse=False)):
            values = _random(weight.shape, device) if weight.ndim > 1 else torch.ones_like(weight, device=device)
            setattr(parent, name, torch.nn.Parameter(values, requires_grad=False))


def _random(shape: torch.Size, device: torch.device) -> torch.Tensor:
    """bfloat16, as large as keeps activations near 1."""
    return torch.randn(shape, dtype=torch.bfloat16, device=device).mul_(1 / math.sqrt(shape[-1]))
