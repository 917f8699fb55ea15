from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from decoder.torch_engine import quantisation
from decoder.torch_engine.quantisation import QuantisationError, quantisation_arguments

PLAIN = SimpleNamespace()


def stored(method: Any) -> Any:
    return SimpleNamespace(quantization_config={"quant_method": method})


def test_without_quantisation_only_the_dtype_is_asked_for() -> None:
    assert quantisation_arguments("none", PLAIN, torch.bfloat16, "cpu") == {"dtype": torch.bfloat16}


@pytest.mark.parametrize("method", ["gptq", "awq", "bitsandbytes", "fp8", "compressed-tensors"])
def test_a_folder_that_is_quantised_is_left_to_the_library(method: str) -> None:
    assert quantisation_arguments("none", stored(method), torch.bfloat16, "cuda") == {"dtype": "auto"}


def test_weights_are_not_quantised_twice() -> None:
    with pytest.raises(QuantisationError, match=r"quantised already \(gptq\), and cannot become int8; set dtype"):
        quantisation_arguments("int8", stored("gptq"), torch.bfloat16, "cuda")


@pytest.mark.parametrize("wanted", ["int8", "int4"])
def test_a_missing_torchao_is_named_with_what_to_install(wanted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantisation, "find_spec", lambda _: None)
    with pytest.raises(QuantisationError, match=r"need torchao: pip install 'draftline\[gpu\]'"):
        quantisation_arguments(wanted, PLAIN, torch.bfloat16, "cuda:0")


def test_int4_on_a_cpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantisation, "find_spec", lambda _: object())
    with pytest.raises(QuantisationError, match="int4 weights need a CUDA device, not cpu; use int8"):
        quantisation_arguments("int4", PLAIN, torch.bfloat16, "cpu")


@pytest.mark.skipif(find_spec("torchao") is None, reason="needs torchao (pip install 'draftline[gpu]')")
@pytest.mark.parametrize("wanted", ["int8", "int4"])
def test_torchao_quantises_weights_only(wanted: Any) -> None:
    arguments = quantisation_arguments(wanted, PLAIN, torch.bfloat16, "cuda")
    assert arguments["dtype"] is torch.bfloat16
    assert type(arguments["quantization_config"].quant_type).__name__ == f"{wanted.title()}WeightOnlyConfig"
