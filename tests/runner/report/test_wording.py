import re
import string
from pathlib import Path

import pytest

from plugins.evaluation.links import LinkEvaluation
from runner.chat import phrases
from runner.freezing.words import WORDS
from runner.metrics.catalogue import built_in
from runner.metrics.metric import Metric, Words
from runner.report.english import ENGLISH
from runner.report.english_models import ENGLISH_MODELS
from runner.report.wording import LANGUAGES, wording_of

IN_ENGLISH, IN_KOREAN = LANGUAGES["en"].texts, LANGUAGES["ko"].texts


def _readings(metric: Metric) -> list[Words]:
    return [] if metric.grades is None else list(metric.grades.readings.values())


OFFERED = [*built_in().metrics, *LinkEvaluation.metrics]
OF_METRICS = [
    words
    for metric in OFFERED
    for words in (metric.label, metric.short, metric.meaning, metric.no_grade, *_readings(metric))
    if words
]  # what records say


def test_metrics_are_spoken_of_in_both_languages() -> None:
    assert all(words.keys() == {"en", "ko"} and all(words.values()) for words in OF_METRICS)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_say_the_same_things() -> None:
    assert IN_ENGLISH.keys() == IN_KOREAN.keys()
    for key, text in IN_ENGLISH.items():
        assert placeholders(text) == placeholders(IN_KOREAN[key]), key


def test_a_key_stands_in_one_place() -> None:
    assert not ENGLISH.keys() & ENGLISH_MODELS.keys()


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


ROOT = Path(__file__).resolve().parents[3]
OTHER_WORDS = {
    "지표": "메트릭", "트레이스": "추론 추적", "레이블": "라벨", "재순위화": "리랭커", "추천": "제안",
    "코퍼스": "말뭉치", "케이스": "사례", "심판": "판정기", "문맥": "컨텍스트", "베이스라인": "기준선",
    "슬라이스": "그룹", "프로파일": "프로필", "오차 범위": "잡음 범위", "데이터 세트": "데이터셋",
    "끊어진 링크": "끊긴 링크", "맥락": "컨텍스트", "기억 갱신": "메모리 갱신",
}  # fmt: skip


def test_a_thing_has_one_korean_name() -> None:
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.ko.md", "tests/readme_ko.yaml")}
    texts |= {"reports": "\n".join(IN_KOREAN.values()), "records": "\n".join(WORDS["ko"].values())}
    texts["metrics"] = "\n".join(words["ko"] for words in OF_METRICS)
    texts["chat"] = "\n".join([*phrases.COMMANDS["ko"].values(), *phrases.WORDS["ko"].values()])
    found = [f"{name}: {other} for {word}" for name, text in texts.items() for other, word in OTHER_WORDS.items()
             if other in text]  # fmt: skip
    assert found == []


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
