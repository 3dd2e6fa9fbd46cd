"""Compiled templates, kept beside the package as Python keeps its modules: compiling those of a report takes a tenth of
a second, in each command that writes one."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from runner.system.metadata import version_of
from runner.system.writing import replacing

if TYPE_CHECKING:
    from jinja2.bccache import Bucket, BytecodeCache

FOLDER = Path(__file__).with_name("__pycache__")


def compiled_templates() -> BytecodeCache:
    """A cache for an environment of Jinja. Nothing is kept where Python keeps no modules either."""
    from jinja2.bccache import BytecodeCache

    class TemplateCache(BytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            """Fill the bucket from its file, if there is one."""
            with suppress(Exception), _path(bucket).open("rb") as file:  # a damaged file is made again
                bucket.load_bytecode(file)

        def dump_bytecode(self, bucket: Bucket) -> None:
            """Write the bucket to its file."""
            if sys.dont_write_bytecode or bucket.code is None:
                return
            with suppress(OSError), replacing(_path(bucket), redacts=False) as scratch:
                scratch.write_bytes(bucket.bytecode_to_string())

    return TemplateCache()


def _path(bucket: Bucket) -> Path:
    """Jinja compares the source and the version of Python; its own version and the options of the environment are part
    of the name."""
    jinja = bucket.environment
    options = (jinja.autoescape, jinja.trim_blocks, jinja.lstrip_blocks, jinja.finalize is None)
    made_by = f"{version_of('jinja2')}-{''.join(str(int(bool(each))) for each in options)}"
    return FOLDER / f"template-{bucket.key}-{made_by}.{sys.implementation.cache_tag}.pyc"
