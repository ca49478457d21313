"""One plain table per topic: what ran, how long, how much memory, and the targets beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.benchmarks.measure import MIB, Runs

HEADER = ("", "runs", "median s", "fastest s", "peak MiB", "measured", "target", "met")


@dataclass(frozen=True, slots=True)
class Check:
    """A measured number with its target; without one (met is None) it only informs."""

    measured: str
    target: str
    met: bool | None


def ratio(runs: Runs, peer: Runs, limit: float | None = None) -> Check:
    """Compare the medians: at most `limit` times the peer's."""
    share = runs.seconds / peer.seconds
    measured = f"{share:.2f} x {peer.name}"
    if limit is None:
        return Check(measured, "", None)
    return Check(measured, f"<= {limit:.2f} x", share <= limit)


def faster(runs: Runs, peer: Runs) -> Check:
    """Ask for less time than the peer takes."""
    share = runs.seconds / peer.seconds
    return Check(f"{share:.2f} x {peer.name}", "< 1.00 x", share < 1)


def extra(runs: Runs, peer: Runs, limit: float) -> Check:
    """Ask for at most `limit` seconds more than the peer takes."""
    more = runs.seconds - peer.seconds
    return Check(f"{more:+.2f} s on {peer.name}", f"<= +{limit:.2f} s", more <= limit)


def peak(runs: Runs, limit_mib: int) -> Check:
    """Ask for a peak memory below `limit_mib` MiB."""
    used = runs.peak / MIB
    return Check(f"{used:,.0f} MiB", f"< {limit_mib:,} MiB", used < limit_mib)


def below(seconds: float, limit: float) -> Check:
    """Ask for less than `limit` seconds."""
    return Check(f"{seconds:.2f} s", f"< {limit:.2f} s", seconds < limit)


def print_table(
    title: str, done: Mapping[str, Runs], checks: Mapping[str, Sequence[Check]]
) -> bool:
    """Print what ran, in its order, with its checks; return True when every target is met."""
    rows = [HEADER]
    for name, runs in done.items():
        fastest = min(run.seconds for run in runs.runs)
        start = (
            runs.name,
            f"{len(runs.runs)}",
            f"{runs.seconds:.3f}",
            f"{fastest:.3f}",
            f"{runs.peak / MIB:,.0f}",
        )
        for number, check in enumerate(checks.get(name) or [Check("", "", None)]):
            met = {None: "", True: "yes", False: "NO"}[check.met]
            rows.append((*(start if number == 0 else ("",) * 5), check.measured, check.target, met))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    print(f"\n{title}")
    for row in rows:
        cells = [
            text.rjust(width) if 1 <= column <= 4 else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    return all(check.met is not False for some in checks.values() for check in some)
