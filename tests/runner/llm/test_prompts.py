import re
from pathlib import Path

import pytest

from runner.errors import InputError
from runner.llm.fencing import NOTICE
from runner.llm.prompts import FOLDER, prompt, read_prompt


def written(folder: Path, text: str | bytes) -> str:
    path = folder / "p.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.yaml")))
def test_every_prompt_has_both_languages(name: str) -> None:
    texts = prompt(name).texts
    assert set(texts) == {"en", "ko"}
    hangul = {language: sum("가" <= letter <= "힣" for letter in text) for language, text in texts.items()}
    assert hangul["en"] == 0 and hangul["ko"] > len(texts["ko"]) / 4
    placeholders = [sorted(re.findall(r"{[a-z_]+}", texts[language])) for language in ("en", "ko")]
    assert placeholders[0] == placeholders[1]


def test_the_system_message_ends_with_the_notice_on_data(tmp_path: Path) -> None:
    found = read_prompt(written(tmp_path, "version: 1\nen: Say {what}, {what} and {other}.\nko: 말하라.\n"), "x")
    assert found.system("en", what="a") == f"Say a, a and {{other}}.\n\n{NOTICE['en']}"
    assert found.system("ko") == f"말하라.\n\n{NOTICE['ko']}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "{path}: expected version, en and ko"),
        ("just text", "{path}: expected version, en and ko"),
        ("version: 1\nen: a\njp: b\n", "{path}: unknown key 'jp'; expected version, en and ko"),
        ("en: a\n", "{path}: version: expected a whole number"),
        ("version: '1'\nen: a\n", "{path}: version: expected a whole number"),
        ("version: 1\n", "{path}: expected a text under en, ko or both"),
        ("version: 1\nen: ' '\n", "{path}: expected a text under en, ko or both"),
        ("version: 1\nen: a\nko: 3\n", "{path}: expected a text under en, ko or both"),
        ("version: 1\nen: [\n", "{path}:3 is not YAML: expected the node content, but found '<stream end>'"),
        ("version: 1\nen: 답".encode("cp949"), "{path} is not UTF-8: byte 0xb4 at offset 15"),
    ],
)
def test_files_that_are_no_prompts(tmp_path: Path, text: str | bytes, problem: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as raised:
        read_prompt(path, "generator.prompt")
    assert str(raised.value) == "generator.prompt: " + problem.format(path=path)
