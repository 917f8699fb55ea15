"""Which models there are, where they come from, and those on this machine."""
