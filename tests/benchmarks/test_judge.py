"""The judge against labels of single sentences, from a file of one's own."""

import json

LINES = [
    {"texts": ["The tram stops at the mill."], "claim": "The tram stops at the mill.", "label": True},
    {
        "texts": ["The tram stops at the mill."],
        "claim": "The tram stops at the mill and the old harbour.",
        "label": True,
    },
    {"texts": ["The tram costs 2 euros."], "claim": "The tram costs 3 euros.", "label": False},
    {"texts": ["전차는 저렴합니다."], "claim": "전차는 비쌉니다.", "label": False},
]


def test_figures_of_a_file(tmp_path, capsys):
    from benchmarks.judge import sentences  # takes a second to import, which every worker would wait for

    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    sentences(path)
    head, _, judge, overlap, speed = capsys.readouterr().out.splitlines()
    assert head == "mine.jsonl: 4 sentences, 2 supported"
    # scores 1, .49 (two of five words miss), 0 and 0; cover of words 1, 3/5, 1 and 1/2
    assert judge.split()[-4:] == ["1.000", "0.900", "0.000", "0.500"]
    assert overlap.split()[-4:][0] == "0.625" and overlap.split()[-2:] == ["1.000", "1.000"]
    assert speed.startswith("judge=lexical: ")
