"""Other engines on the same tasks, each in a process of its own."""
