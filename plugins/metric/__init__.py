"""Metrics beside those that an evaluation has by itself."""
