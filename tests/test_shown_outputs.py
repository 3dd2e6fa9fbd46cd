import subprocess
import sys
from pathlib import Path

from tests.docs.outputs import plain, refreshed, skeleton, with_numbers_of


def test_numbers_are_those_of_the_output_and_words_stay() -> None:
    shown = ["│ Recall@5:   1.0000  [1.0000, 1.0000]  3/3   │", "…", "p <.001      p .390", "ranked below k  36"]
    told = ["│ MRR: 0.5 │", "│ Recall@5:  0.5000  [0.1, 1.0000]  1/3 │", "p <.002   p .010", "ranked below k   7  "]
    assert list(with_numbers_of(shown, told)) == [
        ("│ Recall@5:  0.5000  [0.1, 1.0000]  1/3 │", True),
        ("…", True),
        ("p <.002   p .010", True),
        ("ranked below k   7", True),
    ]


def test_what_no_output_says_is_named() -> None:
    assert list(with_numbers_of(["+0.049 ▲", "k 5"], ["+0.049 =", "k 5"])) == [("+0.049 ▲", False), ("k 5", True)]
    assert skeleton(" 300    −0.003       +0.019") == skeleton(" 300   *0.003       *0.019") == "# # #"


def test_commands_run_as_in_a_plain_installation(tmp_path: Path) -> None:
    asks = [sys.executable, "-c", "from runner.llm.tokens import is_exact; print(is_exact())"]
    done = subprocess.run(asks, env=plain(tmp_path), capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_page_is_written_anew(tmp_path: Path) -> None:
    script = f"```sh\nalias python={sys.executable}; python -m runner score qrels run --cutoffs 1\n```\n"
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n", encoding="utf-8")
    (tmp_path / "run").write_text("1 Q0 a 1 2.0 x\n2 Q0 a 1 2.0 x\n", encoding="utf-8")
    text = f'# T\n\n{script}\n```text\n  "recall@1": 0.9,\n  "nothing": 1\n```\n'
    found, missing = refreshed(text, tmp_path)
    assert '  "recall@1": 0.5,\n' in found
    assert missing == ['  "nothing": 1']
