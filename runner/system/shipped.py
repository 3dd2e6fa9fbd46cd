"""Files that come with the program, which are known to be well-formed."""

from __future__ import annotations

from typing import Any


def shipped_yaml(text: str) -> Any:
    """The value of a YAML text of the program, in a tenth of the time of yaml.safe_load where PyYAML has libyaml. Texts
    of users are read by the latter: libyaml accepts some that it refuses."""
    import yaml

    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
