"""Line ends: models are prompted with LF, whatever the document uses."""


def to_lf(text: str) -> str:
    r"""The text with LF line ends.

    >>> to_lf("a\r\nb\rc")
    'a\nb\nc'
    """
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
