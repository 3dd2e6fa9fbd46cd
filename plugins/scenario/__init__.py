"""Scenarios: conversations with facts planted in them, and probes that ask for these."""
