import pytest

from plugins.system.none import NoSystem
from tests.plugins.system.asking import QUERY


async def test_the_parts_of_the_configuration_are_evaluated_and_nobody_is_asked() -> None:
    system = NoSystem()
    assert (system.is_within, system.repeats) == (True, 1)
    async with system.open():
        with pytest.raises(RuntimeError, match="system=none is not asked"):
            await system.ask(QUERY)
