"""Generators: an answer from contexts, or a refusal."""
