"""Traces of what agents thought and did, and what they are worth:

from runner.domains.traces import score_trace
score_trace(trace, profile="finance").score
"""

from runner.domains.traces.scoring import score_trace as score_trace
