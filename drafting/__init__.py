"""Guesses tokens ahead of the target model; a leaf that needs neither torch nor our other rooms."""
