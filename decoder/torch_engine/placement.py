"""Where the layers of a model go: one device, several by themselves (`spread`), or as many on each as is said."""

import re
from dataclasses import dataclass

_SHARE = re.compile(r"(?P<device>cpu|cuda:\d+)=(?P<layers>[1-9]\d*)")
_SINGLE = re.compile(r"cpu|cuda(:\d+)?")
SPREAD = "spread"


class PlacementError(ValueError):
    """A text that names no devices, or shares that do not add up to the model."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Devices in the order of the model's layers, and how many layers each takes.

    One device without a number takes everything; none at all leaves the choice to accelerate.
    """

    devices: tuple[str, ...] = ()
    layers: tuple[int, ...] = ()

    @staticmethod
    def parse(text: str) -> "Placement":
        """From `cpu`, `cuda`, `cuda:N`, `spread`, or shares such as `cuda:0=40,cuda:1=40`. Raises PlacementError.

        >>> Placement.parse("cuda:0=40,cuda:1=40")
        Placement(devices=('cuda:0', 'cuda:1'), layers=(40, 40))
        """
        if text == SPREAD:
            return Placement()
        if _SINGLE.fullmatch(text):
            return Placement((text,))
        shares = [_SHARE.fullmatch(part.strip()) for part in text.split(",")]
        if None in shares:
            raise PlacementError(f"{text!r} is no device: use cpu, cuda, cuda:N, spread, or cuda:0=40,cuda:1=40")
        found = [share for share in shares if share is not None]
        return Placement(tuple(share["device"] for share in found), tuple(int(share["layers"]) for share in found))

    @property
    def single(self) -> str | None:
        """The one device, if it is one."""
        return self.devices[0] if len(self.devices) == 1 and not self.layers else None

    @property
    def first(self) -> str:
        """Where the first layer is, and the tokens with it."""
        return self.devices[0] if self.devices else "cuda:0"

    def device_map(self, num_layers: int, *, tied: bool) -> dict[str, str] | str:
        """What transformers takes as `device_map`, for models laid out like Llama.

        The embedding is with the first layer, the last norm and the head with the last; a head that shares the
        embedding's weights (tied) stays with it. Raises PlacementError where the shares are not the model's layers.
        """
        if self.single is not None:
            return {"": self.single}
        if not self.devices:
            return "auto"
        if sum(self.layers) != num_layers:
            raise PlacementError(f"the shares add up to {sum(self.layers)} layers, the model has {num_layers}")
        owners = [device for device, count in zip(self.devices, self.layers, strict=True) for _ in range(count)]
        first, last = owners[0], owners[-1]
        ends = {"model.embed_tokens": first, "model.rotary_emb": first, "model.norm": last}
        ends["lm_head"] = first if tied else last
        return ends | {f"model.layers.{index}": device for index, device in enumerate(owners)}
