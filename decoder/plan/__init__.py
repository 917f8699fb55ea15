"""What a pair of models needs of memory, and where it goes: computed before anything is loaded or downloaded."""
