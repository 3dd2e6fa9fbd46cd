from pathlib import Path

import pytest
import yaml

from runner.llm import controls, prompts, rubrics
from runner.system.shipped import shipped_yaml

FILES = [*rubrics.FOLDER.glob("*.yaml"), *prompts.FOLDER.glob("*.yaml"), controls.FILE]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_the_program_reads_as_by_pyyaml(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert shipped_yaml(text) == yaml.safe_load(text)
