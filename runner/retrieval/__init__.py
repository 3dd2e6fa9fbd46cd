"""From a corpus to rankings: index, rank every query once, store the rankings."""
