"""A sweep one worker of which is killed."""

KILLER = """
import os, signal
from pathlib import Path
from runner.records import Ranking

class Killer:
    \"\"\"Takes its process along when it is first asked for at=2.\"\"\"

    def __init__(self, *, at: int, graph_rerank: bool | None):
        self.at = at

    def index(self, corpus, workspace):
        mark = Path("killed")
        if self.at == 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {}

    def search(self, queries, depth):
        return [Ranking((), (), ()) for _ in queries]
"""
UNUSED = ("tokenizer", "method", "k1", "b", "filter", "graph_weight")


def killed_at(*values: int) -> list[str]:
    """Of a command whose run at=2 kills its worker, once; `killer.py` in the folder of the command holds KILLER."""
    settings = [f"~retriever.{name}" for name in UNUSED]
    at = f"++retriever.at={','.join(map(str, values))}"
    return ["+experiment=retrieval_only", "retriever=keyword", *settings, "retriever._target_=killer.Killer", at]
