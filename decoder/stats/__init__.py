"""What `draftline stats` shows: what drafting has learned, and what the latency log says of answers."""
