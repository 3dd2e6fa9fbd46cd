import shlex
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hypothesis import given
from hypothesis import strategies as st

from runner.config.arguments import PLAIN, SIMPLE, cells, check_overrides, command_of, is_sweep, parse, quote_argument
from runner.errors import ConfigError


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("k=5", 5),
        ("sample=0.5", 0.5),
        ("strict=true", True),
        ("case=null", None),
        ("cutoffs=[1,3]", [1, 3]),
        ("seed=1_000", "1_000"),
        ("case=1_000", "1_000"),
        ("case=12", "12"),
        ("out=2024", "2024"),
        ("compare=12345678901234567890123456789012", "12345678901234567890123456789012"),
        ("compare=latest:full_rag", "latest:full_rag"),
        ("save_snapshot=릴리스 1/a,b.json", "릴리스 1/a,b.json"),
        ("out=실험 1/결과", "실험 1/결과"),
        ("case=ko-질문-1", "ko-질문-1"),
        ("dataset.corpus=~/x.jsonl", "~/x.jsonl"),
        ("dataset.corpus=/d/a(1)#b.jsonl", "/d/a(1)#b.jsonl"),
        ("dataset.corpus=/d/[x].jsonl", "/d/[x].jsonl"),
        ("case=15<::>1|reference", "15<::>1|reference"),
        ("x=it's", "it's"),
        ("x=a\\b가", "a\\b가"),
        ("x=끝\\", "끝\\"),
        ("x='already, quoted'", "already, quoted"),
        ("x=[가, b]", ["가", "b"]),
        ("x={title: 제목}", {"title": "제목"}),
        ("x=a=b", "a=b"),
        ("x=", ""),
    ],
)
def test_what_is_typed_is_what_hydra_reads(typed: str, value: object) -> None:
    override = parse(quote_argument(typed))
    assert not override.is_sweep_override()
    assert override.value() == value


@pytest.mark.parametrize(
    "typed", ["k=3,5,10", "case=가,나", "retriever=keyword,hybrid", "k=range(1,4)", "x=choice(가,나)"]
)
def test_sweeps(typed: str) -> None:
    assert is_sweep(quote_argument(typed))


@pytest.mark.parametrize("typed", ["k=[3,5]", "x='a,b'", "k=3", "x={a: 1}", "~k", "out=a,b", "compare=a,b"])
def test_no_sweeps(typed: str) -> None:
    assert not is_sweep(quote_argument(typed))


@pytest.mark.parametrize("value", ["range(5,1)", "range(1,4,0)", "range(1,4,-1)", "interval(1,2)", "glob(*)"])
def test_sweeps_over_nothing(value: str) -> None:
    with pytest.raises(ConfigError, match=r"  k: has no value; expected some, such as k=1,2 or k=range\(1,4\)$"):
        cells(["seed=1", f"k={value}"])


def test_a_sweep_over_nothing_names_the_package_that_was_typed() -> None:
    with pytest.raises(ConfigError, match=r"  retriever@x: has no value; "):
        cells(["retriever@x=range(5,1)"])


@pytest.mark.parametrize("overrides", [["k=range(1,1000000000000)"], ["seed=1,2", "k=range(0,10000)"]])
def test_sweeps_over_too_much(overrides: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"  k: more than 10,000 runs in one command; expected fewer values$"):
        cells(overrides)


def test_a_path_that_exists_may_hold_a_comma(tmp_path: Path) -> None:
    path = tmp_path / "a,b (1).jsonl"
    path.touch()
    assert parse(quote_argument(f"dataset.corpus={path}")).value() == str(path)


def test_a_number_of_more_digits_than_python_reads_is_a_text() -> None:
    digits = "9" * 5000
    assert parse(quote_argument(f"k={digits}")).value() == digits
    assert parse(quote_argument(f"k=[1,{digits}]")).value() == [1, digits]


def test_brackets_beyond_what_hydra_reads() -> None:
    typed = "x=" + "[" * 2000 + "]" * 2000
    with pytest.raises(ConfigError, match="expected KEY=VALUE"):
        check_overrides([typed])


def test_cells_are_the_product_in_hydras_order() -> None:
    assert cells(["a=1,2", "b=x", "c=y,z"]) == [
        ["a=1", "b=x", "c=y"],
        ["a=1", "b=x", "c=z"],
        ["a=2", "b=x", "c=y"],
        ["a=2", "b=x", "c=z"],
    ]


def test_what_is_given_to_a_provider_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        check_overrides(["+provider.my own.base_url=http://me:secret@x/v1"])
    assert str(caught.value).endswith("\n  +provider.my own.base_url: expected KEY=VALUE, +KEY=VALUE or ~KEY")


@pytest.mark.parametrize("typed", ["k=3,", "k=3,,5", "retriever=keyword,"])
def test_a_value_that_is_missing_beside_a_comma(typed: str) -> None:
    with pytest.raises(ConfigError, match=r"(k|retriever): a value is missing beside a comma$"):
        check_overrides([typed])


def test_what_is_no_override_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        check_overrides(["k=3", "=5", "k"])
    assert str(caught.value) == (
        "2 problems in the configuration:\n"
        "  =5: expected KEY=VALUE, +KEY=VALUE or ~KEY\n"
        "  k: expected KEY=VALUE, +KEY=VALUE or ~KEY"
    )


def test_a_command_is_told_as_it_was_typed() -> None:
    words = ["+experiment=full_rag", "k=3", "case=1_000", "dataset.corpus=자료 (1)/c.jsonl", "x=it's", "judge=가나"]
    where = ["out=/x", "cache_dir=c", "hydra.searchpath=[]"]
    told = command_of([quote_argument(word) for word in [*where, *words]], None)
    assert shlex.split(told) == ["python", "-m", "runner", *words]
    assert told.endswith("judge=가나")
    added = ["+profile@evaluation.profiles.물류=물류", "+profile@evaluation.profiles.mine=code"]
    told = command_of(["profile=물류", *added], None, ["내 설정"])
    assert told == "python -m runner --config-dir '내 설정' profile=물류 +profile@evaluation.profiles.mine=code"
    free = ["++provider.local.base_url=http://127.0.0.1:8080/v1", "++judge.rubrics.mine=r.yaml", "++retriever.k1=2"]
    assert command_of(free, None) == (
        "python -m runner provider.local.base_url=http://127.0.0.1:8080/v1 judge.rubrics.mine=r.yaml ++retriever.k1=2"
    )
    frozen = command_of(["k=3"], "experiments/기록 1/frozen.yaml")
    assert frozen == "python -m runner -cd 'experiments/기록 1' -cn frozen k=3"


@pytest.mark.parametrize(
    ("typed", "runs"),
    [
        ("generator.model=openai:a,openai:b", ["generator.model=openai:a", "generator.model=openai:b"]),
        ("system.url=http://h:1/v,http://h:2", ["system.url=http://h:1/v", "system.url=http://h:2"]),
        ("deterministic=true,false", ["deterministic=true", "deterministic=false"]),
        ("metric=[a:b,c:d],[e]", ["metric=[a:b,c:d]", "metric=[e]"]),
        (r"x='a\:b',c", [r"x='a\:b'", "x=c"]),  # a backslash of the text itself
        (r"x={k\:y:1},{z:1}", [r"x={k\:y:1}", "x={z:1}"]),  # a key of a mapping needs it
    ],
)
def test_runs_are_told_as_their_values_are_typed(typed: str, runs: list[str]) -> None:
    assert [cell[0] for cell in cells([typed])] == runs


@given(st.from_regex(PLAIN, fullmatch=True))
def test_hydra_reads_a_plain_word_as_it_stands(word: str) -> None:
    assert quote_argument(f"k={word}") == f"k={word}"
    assert parse(f"k={word}").get_value_element_as_str() == word or parse(f"k={word}").value() in (None, True, False)


KEYS = st.sampled_from(["k", "+k", "++a.b_1", "a/b", "+++k", "a/b.c", "~k", "a@b", "1", "a-b", "k ", "a.1", "가"])
VALUES = st.one_of(
    st.sampled_from(
        ["true", "NULL", "False", "inf", "NaN", "nano", "truer", "null/x", "0", "00", "1_0", "-1", "1e3", ""]
    ),
    st.sampled_from(["9" * 16, "9" * 17, "http://127.0.0.1:8000/v1", "/a/b.c", "a-1.5e3", "'a b'", "''", "'가: 1'"]),
    st.sampled_from(
        ["'a\\\\'", "'${a}'", "'it''s'", "a b", "${a}", "a,b", "[a]", "f(a)", "a:b", ":a", "a:", "/", "'a\nb'"]
    ),
    st.text("aTn_/.:-1 '", max_size=6),
)


@given(KEYS, VALUES)
def test_simple_words_are_read_as_by_hydra(key: str, value: str) -> None:
    word = f"{key}={value}"
    try:
        theirs = OverridesParser.create().parse_override(word)
    except HydraException:
        assert SIMPLE.fullmatch(word) is None
        return
    assert repr(parse(word)) == repr(theirs)
