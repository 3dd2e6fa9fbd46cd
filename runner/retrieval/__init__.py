"""From a corpus to rankings: index, rank every query once, keep the rankings."""
