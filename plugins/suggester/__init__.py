"""Suggesters: which notes a place in a note should link to, and why."""
