"""Plain against speculative decoding on the same tasks, every text compared."""
