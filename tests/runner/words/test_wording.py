import ast
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from plugins.evaluation.links import LinkEvaluation
from runner.errors import DataError
from runner.metrics.catalogue import built_in_catalogue
from runner.metrics.metric import Metric, Words
from runner.words import wording as words
from runner.words.wording import LANGUAGES, ROOMS, SUPPORTED, Wording, differences, read, wording, wording_of
from tests.docs.pages import documentation

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "runner" / "words"
OTHER_ROOMS = (
    "calibrate",
    "chat",
    "clean",
    "commands",
    "embed",
    "errors",
    "records",
    "import",
    "init",
    "outcomes",
    "plan",
    "projection",
    "watch",
    "serve",
)  # read alone, or with reports
ALL_ROOMS = (*ROOMS, *OTHER_ROOMS)
KEYS = {key for room in ALL_ROOMS for key in wording("en", room).texts}
IN_KOREAN = {f"{room}: {key}": text for room in ALL_ROOMS for key, text in wording("ko", room).texts.items()}

TEMPLATES = sorted((ROOT / "runner").rglob("*.j2"))
CONF = sorted((ROOT / "conf").rglob("*.yaml"))
EVALUATIONS = {path.stem for path in CONF if path.parent.name == "evaluation"}


@pytest.fixture(scope="module")
def nodes() -> list[ast.AST]:
    """Of all code: a hundred megabytes, which go with the last test here."""
    paths = [path for folder in ("runner", "plugins") for path in (ROOT / folder).rglob("*.py")]
    return [node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def _readings(metric: Metric) -> list[Words]:
    return [] if metric.grades is None else list(metric.grades.readings.values())


OFFERED = [*built_in_catalogue().metrics, *LinkEvaluation.metrics]
OF_METRICS = [
    texts
    for metric in OFFERED
    for texts in (metric.label, metric.short, metric.meaning, metric.no_grade, *_readings(metric))
    if texts
]  # what records say


def test_metrics_are_spoken_of_in_both_languages() -> None:
    assert all(texts.keys() == {"en", "ko"} and all(texts.values()) for texts in OF_METRICS)


def test_every_room_has_a_file_a_language() -> None:
    names = {f"{room}.{language}.yaml" for room in ALL_ROOMS for language in SUPPORTED}
    assert {path.name for path in FOLDER.glob("*.yaml")} == names


@pytest.mark.parametrize("room", ALL_ROOMS)
def test_both_languages_say_the_same_things(room: str) -> None:
    english, korean = wording("en", room).texts, wording("ko", room).texts
    assert differences(english, korean) == []
    assert list(english) == list(korean), "another order of keys"


def test_a_key_stands_in_one_room() -> None:
    rooms = (*ROOMS, "calibrate")
    keys = [key for room in rooms for key in wording("en", room).texts]
    assert len(keys) == len(set(keys)) == len(wording("en", *rooms).texts)


def test_a_file_of_words_reads_the_same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """`no: nein` is false to an editor that knows YAML; and there are machines without libyaml."""
    texts = {path: read(path) for path in sorted(FOLDER.glob("*.yaml"))}
    safely = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    plain = {path: yaml.load(path.read_text(encoding="utf-8"), safely) for path in texts}
    assert len(texts) > 20 and [path.name for path in texts if plain[path] != texts[path]] == []
    monkeypatch.delattr(yaml, "CBaseLoader", raising=False)
    words.loader.cache_clear()
    assert [path.name for path in texts if read(path) != texts[path]] == []
    words.loader.cache_clear()


def test_every_key_that_is_said_has_words(nodes: list[ast.AST]) -> None:
    assert _called(nodes, "say", "word") - KEYS == set()


def test_no_sentence_is_left_that_nothing_says(nodes: list[ast.AST]) -> None:
    """Keys stand in the code, or are made there of a constant and of what stands elsewhere in it (`metric.{name}`)."""
    constants = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    constants |= {
        key for path in TEMPLATES for key in re.findall(r"""["']([\w.]+)["']""", path.read_text(encoding="utf-8"))
    }
    names = {*(constant.strip("._") for constant in constants), "True", "False", *map(str, range(10))}
    made = {_pattern(node) for node in nodes if isinstance(node, ast.JoinedStr)} - {""}
    forms = [re.compile(form) for form in [*made, *(rf"{re.escape(group)}\.(.+)" for group in _called(nodes, "name"))]]

    def is_made(key: str) -> bool:
        matches = filter(None, (form.fullmatch(key) for form in forms))
        return any({part for filled in match.groups() for part in _parts(filled)} <= names for match in matches)

    # those: tests/runner/commands/test_arguments.py, and tests/runner/words/test_bilingual.py
    general = KEYS - wording("en", "commands", "errors").texts.keys()
    assert {key for key in general if not any(each in constants or is_made(each) for each in _general(key))} == set()


def _parts(filled: str) -> list[str]:
    """`a.b` is filled in by two names; `.b` and `_b` with what separates it."""
    return filled.strip("._").split(".")


def _called(nodes: Sequence[ast.AST], *functions: str) -> set[str]:
    """The constants that are the first argument of calls of these names."""
    calls = [node for node in nodes if isinstance(node, ast.Call) and node.args]
    return {
        call.args[0].value
        for call in calls
        if getattr(call.func, "id", getattr(call.func, "attr", "")) in functions
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
    }


def _pattern(node: ast.JoinedStr) -> str:
    """Of an f-string that may be a key (`metric.{name}`, `{name}.meaning`), the keys that it may make."""
    parts = [str(part.value) if isinstance(part, ast.Constant) else "" for part in node.values]
    may_be = re.fullmatch(r"[a-z]\w*[._][\w.]*", parts[0]) or re.fullmatch(r"[.]\w[\w.]+", parts[-1])
    return "".join(re.escape(part) if part else "(.+)" for part in parts) if may_be else ""


def _general(key: str) -> list[str]:
    """`lost.title.links` is said as `lost.title` too."""
    general, _, evaluation = key.rpartition(".")
    return [key, general] if evaluation in EVALUATIONS else [key]


def test_korean_sentences_are_korean() -> None:
    """Values to be filled in, symbols and terms that have no Korean name need no Hangul."""
    said = {key: re.sub(r"\{\w+\}", "", text) for key, text in IN_KOREAN.items()}
    said |= {words["en"]: words["ko"] for words in OF_METRICS}
    words = {key for key, text in said.items() if re.search(r"[A-Za-z]{3,} [A-Za-z]{3,}", text)}
    assert {key for key in words if not re.search("[가-힣]", said[key])} == {"Hit Rate"}


def test_no_particle_hangs_on_what_is_filled_in() -> None:
    """은 or 는, 이 or 가 …: which one it is can only be told of a word that is known."""
    choices = re.compile(
        r"\}(?:은|는|이|가|을|를|과|와|으로|로)(?![가-힣])|(?:은\(는\)|이\(가\)|을\(를\)|이/가|은/는|을/를)"
    )
    assert [key for key, text in IN_KOREAN.items() if choices.search(text)] == []


OTHER_WORDS = {
    "지표": "메트릭", "트레이스": "추론 추적", "레이블": "라벨", "재순위화": "리랭커", "추천": "제안",
    "코퍼스": "말뭉치", "케이스": "사례", "심판": "판정기", "문맥": "컨텍스트", "베이스라인": "기준선",
    "슬라이스": "그룹", "프로파일": "프로필", "오차 범위": "잡음 범위", "데이터 세트": "데이터셋",
    "끊어진 링크": "끊긴 링크", "맥락": "컨텍스트", "기억 갱신": "메모리 갱신",
}  # fmt: skip


def test_a_thing_has_one_korean_name() -> None:
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.ko.md", "tests/docs/korean.yaml")}
    texts |= documentation("ko")
    texts |= {room: "\n".join(wording("ko", room).texts.values()) for room in ALL_ROOMS}
    texts["metrics"] = "\n".join(each["ko"] for each in OF_METRICS)
    other_words = [f"{name}: {other} for {word}" for name, text in texts.items() for other, word in OTHER_WORDS.items()
                   if other in text.replace("스택 트레이스", "")]  # fmt: skip
    assert other_words == []


def test_the_language_is_configured() -> None:
    assert wording_of({"config": {"report": {"language": "ko"}}}) is LANGUAGES["ko"]
    assert wording_of({}) is LANGUAGES["en"]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_an_evaluation_has_its_own_words_where_the_general_ones_do_not_fit(language: str) -> None:
    say = LANGUAGES[language]
    for evaluation in ("links", "memory"):
        own = say.of(evaluation)
        end = f".{evaluation}"
        keys = {key for key in say.texts if key.removesuffix(end) in say.texts and key.endswith(end)}
        assert keys >= {f"controls.explain{end}", f"judge.warn.false_accept{end}", f"compare.flips.by_label{end}"}
        assert all(own(key.removesuffix(end)) == say(key) for key in keys)
        assert own("head.judge") == say("head.judge") and own.language == language
    assert say.of("retrieval_only")("lost.title") == say("lost.title")
    assert say.of(None) is say and say.of("of_a_package") is say
    assert wording_of({"config": {"report": {"language": language}}, "evaluation_type": "links"}) == say.of("links")


def test_a_category_without_a_word_stands_for_itself() -> None:
    assert LANGUAGES["en"].name("lost_at", "not_retrieved") == "not retrieved"
    assert LANGUAGES["en"].name("lost_at", "on_the_moon") == "on_the_moon"


ENGLISH = "metric.tone: Tone\ntone.explain: '{n} answers were polite.'\nlost.title.tone: Where tone fails\n"
KOREAN = "metric.tone: 말투\ntone.explain: 정중한 답변은 {n}개입니다.\nlost.title.tone: 말투 문제\n"


def folder_of(tmp_path: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("language", "label", "sentence", "title"),
    [
        ("en", "Tone", "3 answers were polite.", "Where tone fails"),
        ("ko", "말투", "정중한 답변은 3개입니다.", "말투 문제"),
    ],
)
def test_a_package_brings_words_of_its_own(
    language: str, label: str, sentence: str, title: str, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, en=ENGLISH, ko=KOREAN)
    before = LANGUAGES[language].texts.copy()
    say = LANGUAGES[language].with_words(folder)
    assert say("metric.tone") == label and say("tone.explain", n=3) == sentence
    assert say.of("tone")("lost.title") == title and say("lost.title") == LANGUAGES[language]("lost.title")
    assert LANGUAGES[language].texts == before and say.language == language


def test_a_language_that_a_package_does_not_speak_is_said_in_english(tmp_path: Path) -> None:
    say = LANGUAGES["ko"].with_words(folder_of(tmp_path, en=ENGLISH))
    assert say("metric.tone") == "Tone" and say("none") == LANGUAGES["ko"]("none")


def test_words_are_read_from_the_resources_of_a_package() -> None:
    say = Wording("ko", {}).with_words(_Renamed(files("runner") / "words"))
    assert say("command.quit") == wording("ko", "chat")("command.quit")


class _Renamed:
    """Files of the room `chat`, under the names that a package gives its own."""

    def __init__(self, folder: Any) -> None:
        self.folder = folder

    def __truediv__(self, name: str) -> Any:
        return self.folder / f"chat.{name}"


@pytest.mark.parametrize(
    ("english", "korean", "problem"),
    [
        ("a: x", "b: y", "a: only one language has it\n{folder}: b: only one language has it"),
        ("a: '{n} of {m}'", "a: '{n} {total}'", "a: fills in {{n}} {{total}}, in English {{m}} {{n}}"),
        ("a: x", "a: '{n}'", "a: fills in {{n}}, in English nothing"),
        (
            "a: x",
            "a: '{'",
            "a: fills in what cannot be read (Single '{{' encountered in format string), in English nothing",
        ),
        ("none: x", "none: y", "none: is a key of runner; call it none.EVALUATION"),
    ],
)
def test_words_of_a_package_that_do_not_fit(english: str, korean: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        LANGUAGES["ko"].with_words(folder_of(tmp_path, en=english, ko=korean))
    assert str(raised.value) == f"{tmp_path}: {problem.format(folder=tmp_path)}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ": holds no sentences; expected lines of the form key: sentence"),
        ("- a", ": holds no sentences; expected lines of the form key: sentence"),
        ("a: x\nb:\n  c: y", ":2: expected key: sentence, with no mapping or list in it"),
        ("a: x\na: y", ":2: a stands twice"),
        ("a: 'x", ": not a file of words: "),
    ],
)
def test_a_file_that_holds_no_words(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=re.escape(f"{tmp_path / 'en.yaml'}{problem}")):
        read(folder_of(tmp_path, en=text) / "en.yaml")
    with pytest.raises(DataError, match=r"not a file of words: .*No such file"):
        read(tmp_path / "ko.yaml")


def test_values_are_text_whatever_yaml_makes_of_them(tmp_path: Path) -> None:
    assert read(folder_of(tmp_path, en="no: yes\nn: 1.10\ndate: 2026-01-01") / "en.yaml") == {
        "no": "yes", "n": "1.10", "date": "2026-01-01"
    }  # fmt: skip


@pytest.mark.parametrize("language", [None, "fr", 3, ["en"]])
def test_a_language_without_words_is_english(language: object) -> None:
    assert wording_of({"config": {"report": {"language": language}}}) is LANGUAGES["en"]
    assert language not in LANGUAGES and sorted(LANGUAGES) == ["en", "ko"]
    with pytest.raises(KeyError):
        LANGUAGES["fr"]
