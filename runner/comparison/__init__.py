"""Two finished runs side by side: is one of them better, and where?

snapshots       reading snapshot.json, whole or not at all
sides           what a reference names: a file, a folder, a run of MLflow, the latest one
pairing         which case of one run is which of the other
comparability   which metrics mean the same in both
differences     a metric over the pairs: difference, interval, p
verdicts        from numbers to better, worse, within noise, inconclusive
expense         latency, cost and tokens
flips           questions that went from right to wrong and back
compare         all of it together
gate            regression rules held against a comparison
"""
