"""A completions server somewhere else: how it is asked, what it streams back, and when it is left in peace."""
