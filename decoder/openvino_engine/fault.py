"""What is wrong, of all that an error of OpenVINO's says."""


def telling_line(error: Exception) -> str:
    """OpenVINO's errors begin with the places in its source that they came through, and end with what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if lines[0].startswith("Exception from ") else lines[0]
