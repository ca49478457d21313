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
def alarm(attempt: str) -> Iterator[None]:
    """Raise TimeoutError in a block that takes too long."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"no end after {HANG} s: {attempt}")

    handler = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANG)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)


def answer(attempt: str, *words: str, content: bytes = b"", form: str = "json") -> Done:
    """Run a command line, and see that it ends, and answers as it should."""
    with alarm(f"{attempt}: {words!r:.500}"):
        run = piped(content, *words)
    check(run, f"{attempt}: {words!r:.500}", form)
    return run


def check(run: Done, words: Sequence[str] | str, form: str = "json") -> None:
    """See that the program answered as it should: 0 to 3, no traceback, warning or control sign."""
    assert run.code in (0, 1, 2, 3), (words, run.err[-2000:])
    assert "Traceback" not in run.err, words
    assert "Warning:" not in run.err, (words, run.err)
    assert control_signs(run.err) == [], (words, run.err)
    if run.code in (2, 3) and not any(word in words for word in ("--dry-run", "batch")):
        assert run.err, words
        assert run.out == "", words
    if form in ("table", "markdown"):
        assert control_signs(run.out) == [], (words, run.out)


def control_signs(text: str) -> list[str]:
    """Return the characters that a terminal does not print."""
    return [sign for sign in text if not sign.isprintable() and sign != "\n"]
