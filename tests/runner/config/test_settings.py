import pytest

from runner.config.settings import list_settings, settings_of
from runner.errors import ConfigError, InputError


def problems(*words: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        settings_of("chat", words, "chat")
    return [str(problem) for problem in raised.value.problems]


def test_choices_settings_and_nested_choices() -> None:
    words = ["memory=window", "memory/store=local", "memory.window=3", "tenant=회사", "context.memory_tokens=7"]
    cfg = settings_of("chat", words, "chat")
    assert (cfg.memory._target_, cfg.memory.window) == ("plugins.memory.window.WindowMemory", 3)
    assert cfg.memory.store._target_ == "plugins.memory.store.local.LocalStore"
    assert (cfg.chat.tenant, cfg.chat.session, cfg.chat.context.memory_tokens) == ("회사", "default", 7)


def test_everything_that_is_wrong_at_once() -> None:
    found = problems(
        "memroy=window", "memory=windw", "memory/store=rediss", "suggester=hybrid", "context.tokens=1", "session="
    )
    assert found[:3] == [
        "memory: no choice 'windw'; did you mean 'window'?",
        "memory/store: no choice 'rediss'; did you mean 'redis'?",
        "suggester: chat has no suggester; it uses agent, dataset, embedder, generator, judge, memory, provider, "
        "reranker, retriever, store, tokenizer",
    ]
    assert "memroy: unknown setting; did you mean 'memory'?" in found
    assert any(problem.startswith("context.tokens: unknown setting") for problem in found)
    assert any(problem.startswith("session: expected") for problem in found)


def test_a_word_where_a_choice_is_meant() -> None:
    assert problems("memory.store=redis") == [
        "memory.store: a setting of this name is no choice; memory/store=redis chooses it"
    ]
    assert problems("memory=none,window") == ["memory: one value only; a list is written [a,b]"]


def test_what_is_required() -> None:
    with pytest.raises(ConfigError, match=r"corpus: a value is required; give one with corpus=VALUE"):
        settings_of("generate", ["out=x.jsonl"], "testset")


def test_words_that_are_no_settings() -> None:
    with pytest.raises(InputError, match=r"^chat takes settings \(KEY=VALUE\) and --config-dir only$"):
        settings_of("chat", ["--multirun"], "chat")


def test_help_holds_the_settings_and_not_what_is_made_of_them() -> None:
    assert "session: default " in list_settings("chat")
    assert "_target_: runner.commands.chat" not in list_settings("chat")


def test_a_deletion_that_hydra_cannot_read() -> None:
    (found,) = problems("~retriever@x=1")
    assert found.startswith("configuration: Config group override deletion value must be a string")
