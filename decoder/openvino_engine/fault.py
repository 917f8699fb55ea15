"""What is wrong with OpenVINO, of all that its errors say."""


def telling_line(error: Exception) -> str:
    """OpenVINO's errors begin with the places in its source that they came through, and end with what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if lines[0].startswith("Exception from ") else lines[0]


def import_fault() -> str:
    """Why OpenVINO, or its node for paged attention, cannot be imported; "" where they can."""
    try:
        import decoder.openvino_engine.graph  # noqa: F401
    except Exception as error:  # a broken one may raise anything
        return telling_line(error)
    return ""
