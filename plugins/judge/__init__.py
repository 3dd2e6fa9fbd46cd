"""Judges: what an answer, a memory or a reason is worth by a rubric."""
