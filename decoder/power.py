"""Whether the machine runs on its battery, where the system tells."""

import time

import psutil

ASK_AGAIN_SECONDS = 10.0


class Power:
    """Asks the system now and then."""

    def __init__(self) -> None:
        self._on_battery = False
        self._asked = -ASK_AGAIN_SECONDS

    def is_saved(self) -> bool:
        """True on battery; False where there is none, or nobody knows."""
        now = time.monotonic()
        if now - self._asked >= ASK_AGAIN_SECONDS:
            self._asked = now
            self._on_battery = _on_battery()
        return self._on_battery


def _on_battery() -> bool:
    try:
        battery = psutil.sensors_battery()
    except (AttributeError, OSError, ValueError):  # not offered by the system, or not understood
        return False
    return battery is not None and battery.power_plugged is False
