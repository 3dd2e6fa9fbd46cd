"""Tracking: finished runs, sent to where people look at them."""
