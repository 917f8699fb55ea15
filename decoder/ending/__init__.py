"""The rules by which a completion ends and is trimmed, each in a file of its own; `decoder.stopping` applies them."""
