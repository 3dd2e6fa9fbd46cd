from pathlib import Path

import yaml

from plugins.novelty.local import LocalNovelty


def test_configuration_writes_out_every_setting_and_its_default() -> None:
    path = Path(__file__).parents[3] / "conf/novelty/local.yaml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert settings == {
        "_target_": "plugins.novelty.local.LocalNovelty",
        "embedder": "${embedder}",
        **LocalNovelty.__init__.__kwdefaults__,
    }
