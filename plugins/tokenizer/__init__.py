"""Tokenizers: a text as the terms that keywords are matched by."""
