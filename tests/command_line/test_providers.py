"""What is wrong with a provider ends a command at once, and no file and no message holds a secret."""

from pathlib import Path

import pytest

from runner.cli import main
from tests.small_data import small_data

SECRET = "hunter22-secret"
HEAD = "expected an address such as http://127.0.0.1:8080/v1; "
PRIVATE = (
    f"{HEAD}this one holds user:password@, ? or #, and it is kept with the results: put the key into an environment "
    "variable, and its NAME into api_key_env"
)
NO_NAME = (
    "expected the NAME of the environment variable that holds the key, such as OPENAI_API_KEY, or null; what is given "
    "is no such name (and not shown here, as it may be the key)"
)
KNOWN = sorted(path.stem for path in (Path(__file__).resolve().parents[2] / "conf" / "provider").glob("*.yaml"))
LABELS = '{"id": "1", "question": "q", "answer": "a", "contexts": ["c"], "ratings": {"faithfulness": 1}}\n'
JUDGED = ["+experiment=full_rag", "judge=openai", "judge.model=local:m", "out=x"]
COMMANDS = {
    "run": JUDGED,
    "sweep": [*JUDGED, "k=3,5"],
    "unused": ["retriever=keyword", "out=x"],
    "dry run": [*JUDGED, "dry_run=true"],
    "plan": ["plan", *JUDGED],
    "generate": ["generate", "corpus=notes", "out=q.jsonl", "model=local:m"],
    "calibrate": ["calibrate", "labels.jsonl", "ratings=faithfulness", *JUDGED[1:]],
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    (tmp_path / "labels.jsonl").write_text(LABELS, encoding="utf-8")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# 달\n\n달은 한 달에 한 번 지구를 돈다. " * 20, encoding="utf-8")


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command says that leaves nothing behind."""
    before = sorted(Path().rglob("*"))
    assert main(words) == 1
    assert sorted(Path().rglob("*")) == before
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    return said.err


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        (f"base_url=http://me:{SECRET}@127.0.0.1:9/v1", PRIVATE),
        (f"base_url=http://127.0.0.1:9/v1?api_key={SECRET}", PRIVATE),
        ("base_url=http://[::1/v1", f"{HEAD}the host of this one is missing or cannot be read"),
        (f"api_key_env=sk-{SECRET}", NO_NAME),
    ],
)
def test_a_secret_where_its_place_is_not(
    words: list[str], setting: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused([*words, f"provider.local.{setting}"], capsys)
    key = setting.partition("=")[0]
    assert said == f"error: 1 problem in the configuration:\n  provider.local.{key}: {problem}\n"


@pytest.mark.parametrize("command", ["run", "sweep", "dry run", "plan", "generate", "calibrate"])
def test_a_secret_in_the_address_of_the_environment(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:{SECRET}@127.0.0.1:9/v1")
    words = [word.replace("local:m", "openai:m") for word in COMMANDS[command]]
    assert refused(words, capsys) == f"error: 1 problem in the configuration:\n  OPENAI_BASE_URL: {PRIVATE}\n"


@pytest.mark.parametrize("words", [JUDGED, COMMANDS["generate"]], ids=["run", "generate"])
def test_a_file_that_does_not_say_whose_settings_it_holds(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "conf" / "provider" / "mine.yaml"
    path.parent.mkdir(parents=True)
    settings = f"base_url: http://me:{SECRET}@x/v1\nprices: {{usd_per_million: {{}}, currency: KRW}}\n"
    path.write_text(settings, encoding="utf-8")
    mine = [word.replace("local:m", "mine:m") for word in words]
    said = refused([*mine, "--config-dir", "conf", "provider=[openai,mine]"], capsys)
    assert said == (
        f"error: 1 problem in the configuration:\n  provider: {path}: its first line has to be "
        "`# @package provider.mine`, which says whose settings these are\n"
    )
    path.write_text(f"# @package provider.mine\n{settings}", encoding="utf-8")
    said = refused([*mine, "--config-dir", "conf", "provider=[openai,mine]"], capsys)
    assert f"  provider.mine.base_url: {PRIVATE}\n" in said


@pytest.mark.parametrize("words", [JUDGED, COMMANDS["generate"]], ids=["run", "generate"])
def test_a_setting_of_no_provider(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = refused([*words, f"provider.base_url=http://me:{SECRET}@x"], capsys)
    assert said == (
        "error: 1 problem in the configuration:\n"
        "  provider.base_url: expected provider.NAME.base_url, such as provider.local.base_url\n"
    )


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        (
            f"provider=http://me:{SECRET}@x",
            f"provider: no choice 'http://x'; known: {', '.join(KNOWN)}",
        ),
        (
            f"~provider.local.base_url=http://me:{SECRET}@x",
            "provider.local.base_url: expected ~provider.local.base_url, without a value",
        ),
    ],
)
def test_an_address_in_a_message_has_no_password(word: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused([*JUDGED, word], capsys) == f"error: 1 problem in the configuration:\n  {problem}\n"


@pytest.mark.parametrize("sample", [["~sample"], ["sample=3", "~sample"]])
def test_an_option_that_is_taken_out(sample: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused([*small_data(tmp_path), "deterministic=true", *sample], capsys)
    assert said == (
        "error: 1 problem in the configuration:\n  sample: ~sample takes out what has to have a value; expected "
        "sample=VALUE\n"
    )
