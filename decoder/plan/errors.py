"""How a plan fails: asked wrongly, or without the room it needs."""


class PlanError(Exception):
    """A pair or a device that names nothing known; the text says the value and what is accepted."""


class NoRoomError(Exception):
    """A pair that no placement fits; the text has the figures and what would work.

    needed_bytes, available_bytes: of the smallest choice on all devices together.
    """

    def __init__(self, message: str, *, needed_bytes: int, available_bytes: int) -> None:
        super().__init__(message)
        self.needed_bytes = needed_bytes
        self.available_bytes = available_bytes
