"""What every attack needs: its numbers in parts, a run with a time limit, what an answer is."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Sequence

from tests.process.program import piped
from tests.process.runner import Done

HANG = 120  # seconds; on a busy machine the slowest answers take ten


def numbers(total: int, part: int, parts: int) -> range:
    """Return the numbers of the attempts in one of the parts of an attack."""
    return range(part * total // parts, (part + 1) * total // parts)


@contextlib.contextmanager
def alarm(what: str) -> Iterator[None]:
    """Raise TimeoutError in a block that takes too long."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"no end after {HANG} s: {what}")

    handler = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANG)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)


def answer(what: str, *words: str, content: bytes = b"", form: str = "json") -> Done:
    """Run a command line, and see that it ends, and answers as it should."""
    with alarm(f"{what}: {words!r:.500}"):
        done = piped(content, *words)
    check(done, f"{what}: {words!r:.500}", form)
    return done


def check(done: Done, said: Sequence[str] | str, form: str = "json") -> None:
    """See that the program answered as it should: 0 to 3, no traceback, warning or control sign."""
    assert done.code in (0, 1, 2, 3), (said, done.err[-2000:])
    assert "Traceback" not in done.err, said
    assert "Warning:" not in done.err, (said, done.err)
    assert control_signs(done.err) == [], (said, done.err)
    if done.code in (2, 3) and "--dry-run" not in said:
        assert done.err, said
        assert done.out == "", said
    if form in ("table", "markdown"):
        assert control_signs(done.out) == [], (said, done.out)


def control_signs(text: str) -> list[str]:
    """Return the characters that a terminal does not print."""
    return [sign for sign in text if not sign.isprintable() and sign != "\n"]
