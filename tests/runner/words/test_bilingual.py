"""Errors have a Korean line beside the English one where Korean is asked for."""

import ast
import re
import string
from pathlib import Path

import pytest

from runner.cli import main
from runner.words.bilingual import add_translation, in_language, translate
from runner.words.wording import wording
from tests.small_data import write_jsonl

ROOT = Path(__file__).resolve().parents[3]
NOT_IN_CODE = ("value.", "kind.", "head.")  # pydantic's own words, what no message has, and what is counted


@pytest.mark.parametrize(
    ("words", "korean"),
    [
        (["full_rag"], "없는 명령입니다: full_rag. 실험은 이렇게 실행합니다: python -m runner +experiment=full_rag"),
        (["retriever"], "없는 명령입니다: retriever. 띄어쓰지 말고 retriever=VALUE 형식으로 쓰세요"),
        (["resluts", "x"], "없는 명령입니다: resluts(비슷한 이름: results)"),
        (["--hlep"], "없는 옵션입니다: --hlep(비슷한 이름: --help)"),
        (["compare", "a"], "인자가 빠졌습니다: CANDIDATE"),
        (["compare", "a", "b"], "실행을 찾을 수 없습니다: b. 쓸 수 있는 것: snapshot.json 파일, 실행 폴더, "),
        (["results", "x", "y"], "인자가 너무 많습니다: y"),
        (["results", "x"], "x: 그런 폴더가 없습니다. MLflow 실행 ID(0-9a-f 32자)도 아닙니다(실행 폴더에는 run.json, "),
        (["validate", "nix"], "notes: 폴더를 찾을 수 없습니다: nix"),
        (["import", "nix.csv"], "FILE: 파일을 찾을 수 없습니다: nix.csv"),
        (["import", "bad.csv"], "FILE: bad.csv 파일에서 질문 열을 찾지 못했습니다. 이렇게 지정하세요: question=COLUMN"),
        (["ui", "--uri", "nix"], "MLflow 저장소가 아닙니다: nix. 쓸 수 있는 것: sqlite:///FILE, "),
        (
            ["cutoffs=1,3", "k=99", "strict=maybe", "retriver=x", "retriever=keywrd", "a.b=1", "+experiment=nix"],
            "설정에 문제가 6개 있습니다:\n"
            "  retriever: 없는 선택지입니다: keywrd(비슷한 이름: keyword)\n"
            "  experiment: 없는 선택지입니다: nix. 쓸 수 있는 이름: ",
        ),
        (
            ["cutoffs=1,3", "k=99", "strict=maybe", "retriver=x"],
            "설정에 문제가 4개 있습니다:\n"
            "  k: 필요한 값: 50 이하. 입력한 값: 99\n"
            "  retriver: 없는 옵션입니다(비슷한 이름: retriever)\n"
            "  strict: 필요한 값: true 또는 false. 입력한 값: 'maybe'\n"
            "  cutoffs: 목록이 필요합니다. cutoffs=1,3 형태는 스윕이고, 목록은 cutoffs=[1,3] 형태로 씁니다\n",
        ),
        (["fail_on_regression=true", "junit=x.xml"],
         "  fail_on_regression: 비교할 실행이 필요합니다. compare=BASELINE으로 지정하세요\n"
         "  junit: 비교할 실행이 필요합니다. compare=BASELINE으로 지정하거나, threshold.METRIC=NUMBER로"),
        (["threshold.tone=1"], "  threshold.tone: 이 평가에 없거나 어느 쪽이 좋은 값인지 알 수 없는 메트릭입니다:"),
        (["sample=-1"], "  sample: 필요한 값: null, 개수(100) 또는 비율(0.1). 입력한 값: -1"),
        (["init", "bad.csv"], "FOLDER: 파일을 쓸 수 없습니다: bad.csv/README.md. 쓸 수 있는 폴더가 아닙니다: "),
        (["judge=lexical"], "judge: retrieval_only 평가에서는 쓰지 않는 그룹입니다: judge. 쓰는 그룹: dataset, "),
        (["k=[3,5]"], "  k: 필요한 값: 정수. 입력한 값: [3, 5]. 값마다 하나씩 실행하려면 k=3,5 형태(스윕)로 쓰세요\n"),
        (["top_k=5"], "  top_k: 없는 옵션입니다(비슷한 이름: k)\n"),
        (["calls", "nix", "q1"], "nix: 그런 폴더가 없습니다(실행 폴더에는 run.json, "),
        (["score", "nix", "a.run"], "파일을 찾을 수 없습니다: nix"),
        (["reproduce", "nix"], "nix: 그런 기록이 없습니다. 만드는 명령: python -m runner freeze RUN ./NAME"),
        (["experiment=full_rag"], "  experiment: 앞에 +를 붙이세요: +experiment=full_rag"),
        (["compare=latest:nix"], "compare: 완료된 실행이 ./outputs에도 MLflow에도 없는 실험입니다: nix"),
        (["baseline=k=7", "k=3,5"], "  baseline: 이 스윕에 없는 실행입니다: k=7. 쓸 수 있는 것: 0 (k=3), 1 (k=5)"),
        (["--help", "retriever=hybird"], "--help: retriever 그룹에 없는 선택지입니다: hybird(비슷한 이름: hybrid)"),
        (["serve", "--port", "x"], "--port: 필요한 값: 1 이상 65535 이하의 정수. 실제 값: 'x'"),
        (["completion", "tcsh"], "SHELL: 필요한 값: bash, zsh, fish 중 하나. 실제 값: 'tcsh'"),
        (["generate", "corpus=nix"], "설정에 문제가 1개 있습니다:\n  out: 값을 지정해야 합니다: out=VALUE"),
        (["k=3", "5"], "  5: KEY=VALUE, +KEY=VALUE, ~KEY 중 하나로 써야 합니다\n"),
        (["out=/proc/x", "dataset=demo_en"], "out: 쓸 수 없는 위치입니다: /proc/x(그런 파일이나 폴더가 없음)"),
        (["k=range(1,"], "  k: 쉼표 옆에 값이 빠졌습니다\n"),
        (["dataset.queries=x"], "쓸 수 있는 이름: chunker, language, strict. 이 설정이 있는 선택지: dataset=csv, "),
        (["embedder=lsa", "embedder.modle=x"], "비슷한 이름: embedder=openai에 있는 model\n"),
        (["tracking.uri=htp://localhost:5000"], "  tracking.uri: MLflow 저장소가 아닙니다: htp://localhost:5000. "
         "쓸 수 있는 것: sqlite:///FILE, 다른 데이터베이스의 주소, http://ADDRESS\n"),
        (["dataset=jsonl", "dataset.corpus=nothing.jsonl", "dataset.queries=q.jsonl"],
         "오류: dataset.corpus: 쓸 수 있는 문서가 없는 파일입니다: nothing.jsonl"),
        (["+experiment=full_rag", "system=http", "system.url=x"],
         "  system.url: 주소 형식이 아닙니다(예: http://127.0.0.1:8080/v1): http://나 https://로 시작하지 않습니다\n"),
        (["dataset=jsonl"], "  dataset.corpus: 값을 지정해야 합니다: dataset.corpus=VALUE\n"),
        (["dataset=jsonl", "dataset.corpus=bad.jsonl", "dataset.queries=q.jsonl", "strict=true", "dry_run=true"],
         "데이터 파일에 오류가 1개 있습니다(strict=true이면 여기서 멈춥니다):\n  bad.jsonl:2: JSON 형식이 아닙니다("),
        (
            ["+experiment=full_rag", "generator=openai", "generator.model=x"],
            "  generator.model: 모델 이름은 provider:model 형식으로 씁니다(예: openai:gpt-4o-mini). 입력한 값: 'x'\n",
        ),
        (
            ["+experiment=full_rag", "sample=2", "generator=openai", "provider.openai.api_key_env=NO_SUCH_KEY"],
            "  provider.openai.api_key_env: 환경 변수 NO_SUCH_KEY 값이 없습니다. https://api.openai.com",
        ),
    ],
)  # fmt: skip
def test_what_users_meet_most(
    words: list[str], korean: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    Path("bad.jsonl").write_text('{"id": "a", "text": "t"}\nbroken\n', encoding="utf-8")
    Path("nothing.jsonl").touch()
    write_jsonl(Path("q.jsonl"), [{"id": "1", "query": "a?", "answerable": False, "expected_documents": []}])
    assert main([*words, "report.language=ko"]) in (1, 2)
    english, _, told = capsys.readouterr().err.rpartition("error: ")[2].partition("\n오류: ")
    assert f"오류: {told}".find(korean) >= 0 and english


@pytest.mark.parametrize(
    ("message", "korean"),
    [
        (
            "openai:m at http://127.0.0.1:9/v1: no connection to 127.0.0.1:9 (connection refused) (asked 6 times)",
            "서버에 연결할 수 없습니다: 127.0.0.1:9(연결 거부). 모델 openai:m, 주소 http://127.0.0.1:9/v1, 시도 6회",
        ),
        (
            "local:m at http://x/v1: the server answers 404: no model; has this server a model 'm', and is "
            "provider.local.base_url right?",
            "서버가 오류를 돌려보냈습니다: 404 no model. 서버에 있는 모델인지('m'), provider.local.base_url 값이 "
            "맞는지 확인하세요. 모델 local:m, 주소 http://x/v1",
        ),
        ("budget.usd=0.01 is spent (0.02 used)", "예산을 다 썼습니다: budget.usd=0.01(0.02 used)"),
        (
            "out: x is in use by another run; wait for it or choose another folder",
            "out: 다른 실행이 쓰고 있는 폴더입니다: x. 끝나기를 기다리거나 다른 폴더를 고르세요",
        ),
        (
            "tokenizer=kiwi needs the package kiwipiepy (No module); install the extra: pip install 'r[kiwi]'",
            "tokenizer=kiwi 선택에는 kiwipiepy 패키지가 필요합니다(No module). 설치 명령: pip install 'r[kiwi]'",
        ),
        (
            "store.password_env: the store at http://x refuses access (401); store.password_env=NAME names the "
            "environment variable that holds the right secret",
            "store.password_env: 저장소가 접근을 거부했습니다: http://x(401). 올바른 비밀 값이 든 환경 변수의 이름을 "
            "지정하세요: store.password_env=NAME",
        ),
        (
            "store.api_key_env: the environment variable K is not set; it holds the secret for http://x; null sends "
            "none",
            "store.api_key_env: 환경 변수 K 값이 없습니다. http://x 저장소에 보낼 비밀 값입니다. 보내지 않으려면 "
            "null로 두세요",
        ),
        (
            "store: the collection r at http://x has vectors of 3 numbers, and the embedder makes 4; delete it: clean",
            "store: 컬렉션 r(http://x)에 든 벡터의 길이는 3, 임베더가 만드는 벡터의 길이는 4입니다. "
            "컬렉션을 삭제하세요: clean",
        ),
        (
            "store: this one has no index=hnsw; it has index=flat or index=ivf",
            "store: 이 저장소에는 없는 색인입니다: index=hnsw. 쓸 수 있는 것: index=flat, index=ivf 중 하나",
        ),
        (
            "Regression: 2 of 5 rules fired (nDCG@5, MRR). See out/k=5/compare.md.",
            "회귀: 규칙 5개 중 2개 위반(nDCG@5, MRR). 자세한 내용: out/k=5/compare.md",
        ),
        ("2 problems in the configuration:\n  a: unknown option\n  b: odd",
         "설정에 문제가 2개 있습니다:\n  a: 없는 옵션입니다\n  b: odd"),
    ],
)  # fmt: skip
def test_what_runs_say(message: str, korean: str) -> None:
    assert translate(message, "ko", 1) == korean


def test_what_is_wrong_with_data_is_said_in_korean_where_there_are_words_for_it() -> None:
    assert in_language("A.md:2: [[Zed]]: no such note", "ko") == "A.md:2: [[Zed]]: 그런 노트가 없습니다"
    shown = in_language("q.jsonl:6: langage: unknown, ignored; did you mean 'language'?", "ko")
    assert shown == "q.jsonl:6: langage: 모르는 필드이므로 무시합니다(비슷한 이름: language)"
    shown = in_language("q.jsonl:5: query: expected text that is not blank, found number 5", "ko")
    assert shown == "q.jsonl:5: query: 필요한 값: 비어 있지 않은 텍스트. 실제 값: 숫자 5"
    assert in_language("q.jsonl:5: odd", "ko") == "q.jsonl:5: odd"
    assert in_language("A.md:2: [[Zed]]: no such note", "en") == "A.md:2: [[Zed]]: no such note"


def test_a_message_without_a_pattern_gets_the_sentence_of_its_exit_code() -> None:
    shown = add_translation("something nobody wrote a pattern for", "ko", 5, "[1/2] ")
    assert shown.splitlines() == [
        "[1/2] something nobody wrote a pattern for",
        "오류: [1/2] 서로 비교할 수 없는 실행입니다. 자세한 내용은 위의 영어 메시지에 있습니다.",
    ]
    assert add_translation("x", "en", 1) == "x"
    assert add_translation("system.url: 서버가 답하지 않습니다", "ko", 3) == "system.url: 서버가 답하지 않습니다"


def test_what_running_systems_say_in_korean_has_its_english_line() -> None:
    """They are asked in the language of the run, and so is what they are refused with."""
    korean, english = (wording(language, "service") for language in ("ko", "en"))
    for key, values in (("down", {"setting": "system.url"}), ("hopeless", {"n": 8}), ("missing", {"setting": "a.b"})):
        lines = []
        for say in (english, korean):
            reason = say("service.no_connection", reason=say("service.refused"))
            told = say("service.asked", told=reason, times=4)
            lines.append(f"system.url: POST http://127.0.0.1:9/ask: {say(f'service.{key}', told=told, **values)}")
        assert add_translation(lines[1], "ko", 3).splitlines() == [lines[0], f"오류: {lines[1]}"]
    assert add_translation(lines[1], "en", 3) == lines[1]
    said = korean("setting.path", path="ask")
    assert add_translation(f"1 problem in the configuration:\n  system.path: {said}", "ko", 1).splitlines() == [
        "1 problem in the configuration:",
        f"  system.path: {english('setting.path', path='ask')}",
        "오류: 설정에 문제가 1개 있습니다:",
        f"  system.path: {said}",
    ]


def test_korean_texts_ask_in_one_way() -> None:
    """`-하세요`, as one engineer to another; `-하십시오` is for the instructions that models get."""
    paths = [*(ROOT / "runner" / "words").glob("*.ko.yaml"), ROOT / "README.ko.md", *(ROOT / "docs/ko").rglob("*.md")]
    of_models = "settings.md"  # shows their criteria
    found = {path.name for path in paths if "십시오" in path.read_text(encoding="utf-8")}
    assert found <= {of_models}


def test_the_language_is_that_of_the_run_that_a_command_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = ROOT / "experiments" / "full_rag_k_ko"
    assert main(["reproduce", str(record), "k=99"]) == 1
    assert "오류: 설정에" in capsys.readouterr().err
    assert main(["reproduce", str(record), "k=99", "report.language=en"]) == 1
    assert "오류" not in capsys.readouterr().err
    experiment = tmp_path / "experiment" / "mine.yaml"
    experiment.parent.mkdir()
    experiment.write_text("# @package _global_\nreport: {language: ko}\nkk: 3\n", encoding="utf-8")
    assert main(["--config-dir", str(tmp_path), "+experiment=mine"]) == 1
    assert "  kk: 없는 옵션입니다" in capsys.readouterr().err
    experiment.write_text("# @package _global_\nreport: {language: [\n", encoding="utf-8")
    assert main(["--config-dir", str(tmp_path), "+experiment=mine"]) == 1
    assert "mine.yaml: cannot be read" in capsys.readouterr().err
    assert main(["results", "x" * 5000, "\0"]) == 1
    assert "오류" not in capsys.readouterr().err


def test_patterns_are_what_the_program_says() -> None:
    """Each text between two names stands in the code."""
    paths = [path for folder in ("runner", "plugins") for path in (ROOT / folder).rglob("*.py")]
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    constants = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    everything = "\0".join({*constants, *wording("en", "compare").texts.values()})
    pieces = [
        (key, piece.strip())
        for key, text in wording("en", "errors").texts.items()
        if not key.startswith(NOT_IN_CODE)
        for literal, _, _, _ in string.Formatter().parse(text)
        for piece in re.split(r"[;:()'`]", literal)
    ]
    assert [f"{key}: {piece}" for key, piece in pieces if piece not in everything] == []


@pytest.mark.parametrize(("value", "korean"), [('text "x"', '텍스트 "x"'), ('text ""', '텍스트 ""')])
def test_a_value_is_named_in_korean_also_where_it_is_empty(value: str, korean: str) -> None:
    assert in_language(f"expected a number, found {value}", "ko").endswith(f"실제 값: {korean}")
