"""Every test of a history works in a folder of its own, with a small table."""

from tests.process.conftest import folder as folder
