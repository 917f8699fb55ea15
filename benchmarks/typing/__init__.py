"""Recorded keystrokes through the real server, asked for as two editors would. `python -m benchmarks.typing`."""
