from collections.abc import Callable

import pytest
import torch

from decoder.torch_engine.device_memory import memory_figures, naming_memory
from decoder.torch_engine.memory import Demand, DeviceMemoryError, MemoryFigures, degrade, settle

CPU = torch.device("cpu")


class ScriptedAllocator:
    """A device of so many GB on which a target, a draft model and every token of context take their share."""

    def __init__(self, gigabytes: float, *, target: float = 70, draft: float = 16, token: float = 0.001) -> None:
        self.room = gigabytes
        self._target, self._draft, self._token = target, draft, token
        self.tries: list[Demand] = []

    def load(self, demand: Demand) -> str:
        self.tries.append(demand)
        draft = self._draft if demand.draft_model else 0
        needed = self._target + draft + demand.context_tokens * self._token
        if needed > self.room:
            raise DeviceMemoryError("cuda:0", "all of it", MemoryFigures(int(self.room * 1e9), 0, 0), f"{needed} GB")
        return f"{needed:.1f} GB"


WANTED = Demand(8192, "llama3-8b")


@pytest.mark.parametrize(
    ("gigabytes", "fits", "num_said"),
    [
        (141, WANTED, 0),
        (80, Demand(8192), 1),
        (75, Demand(4096), 2),
        (72.1, Demand(2048), 3),
        (71, Demand(1000), 5),
    ],
)
def test_the_draft_model_goes_first_and_then_the_context(gigabytes: float, fits: Demand, num_said: int) -> None:
    allocator, said = ScriptedAllocator(gigabytes), list[str]()
    _, demand = settle(allocator.load, WANTED, least_context=1000, say=said.append)
    assert demand == fits
    assert len(said) == num_said
    assert all(sentence.startswith("cuda:0 is full: ") and "set " in sentence for sentence in said)


def test_every_step_down_says_which_setting_to_change() -> None:
    said: list[str] = []
    settle(ScriptedAllocator(75).load, WANTED, least_context=1000, say=said.append)
    assert said == [
        'cuda:0 is full: llama3-8b does not draft; set draft_model to a smaller model, or to ""',
        'cuda:0 is full: the context is 4096 tokens instead of 8192; set context_tokens = 4096, or dtype = "int8"',
    ]


def test_where_nothing_is_left_to_give_up_the_error_has_the_figures() -> None:
    allocator = ScriptedAllocator(24)
    with pytest.raises(DeviceMemoryError, match=r"cuda:0 has no memory left for all of it \(24\.0 GB in all"):
        settle(allocator.load, WANTED, least_context=1000, say=lambda _: None)
    assert allocator.tries[-1] == Demand(1000)


def test_a_draft_model_on_a_device_of_its_own_stays_if_the_other_is_full() -> None:
    apart = Demand(8192, "llama3-8b", draft_device="cuda:1")
    on_target, on_draft = degrade(apart, "cuda:0", least_context=512), degrade(apart, "cuda:1", least_context=512)
    assert on_target is not None
    assert on_target.demand == Demand(4096, "llama3-8b", "cuda:1")
    assert on_draft is not None
    assert on_draft.demand == Demand(8192)


def test_a_context_at_its_least_is_not_shortened() -> None:
    assert degrade(Demand(512), "cuda:0", least_context=512) is None


def raising(error: Exception) -> Callable[[], None]:
    def run() -> None:
        with naming_memory(CPU, "2 tokens of tiny"):
            raise error

    return run


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a capacity of 79.1 GiB."),
            "CUDA out of memory. Tried to allocate 2.00 GiB",
        ),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
            "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes",
        ),
        (MemoryError(), "MemoryError"),
    ],
)
def test_every_allocators_error_names_device_purpose_and_settings(error: Exception, detail: str) -> None:
    with pytest.raises(DeviceMemoryError) as caught:
        raising(error)()
    assert caught.value.device == "cpu"
    assert str(caught.value).startswith("cpu has no memory left for 2 tokens of tiny (")
    assert detail in str(caught.value)
    assert all(setting in str(caught.value) for setting in ("context_tokens", "dtype", "draft_model"))


def test_other_errors_pass_as_they_are() -> None:
    with pytest.raises(RuntimeError, match=r"^shape mismatch$"):
        raising(RuntimeError("shape mismatch"))()


def test_a_real_allocation_that_is_too_large_is_named() -> None:
    with pytest.raises(DeviceMemoryError, match="you tried to allocate"), naming_memory(CPU, "too much"):
        torch.empty(1 << 60, dtype=torch.int8)


def test_the_machines_figures_make_sense() -> None:
    figures = memory_figures(CPU)
    assert figures is not None
    assert 0 < figures.held < figures.total
    assert 0 <= figures.free <= figures.total
