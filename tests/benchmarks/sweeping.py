"""Topic E: a sweep over scores beside numpy comparing all scores with every cut."""

from __future__ import annotations

import json

from tests.benchmarks import peers
from tests.benchmarks.measure import called, interleave, python
from tests.benchmarks.report import Line, print_table, ratio
from tests.benchmarks.tables import SCORE_MODELS, size, table

POINTS = 200
ROUNDS = 3
CLFEVAL, NUMPY = "clfeval mars, sweep", "numpy, cut by cut"


def sweep_scores(rows: int) -> bool:
    """E: information without a target; both must give the same counts at the same cuts."""
    path = table("scores", rows)
    done = interleave(
        {
            NUMPY: (python(peers.SWEEP, str(path), str(POINTS)), ROUNDS),
            CLFEVAL: (called("mars", str(path), sweep="threshold", points=POINTS), ROUNDS),
        }
    )
    if json.loads(done[NUMPY].output) != peers.sweep_of_clfeval(done[CLFEVAL].output):
        raise SystemExit("clfeval and numpy count the sweep differently")
    title = f"E  {rows:,} rows, {SCORE_MODELS} scored models, {POINTS} cuts, CSV ({size(path)})"
    lines = [Line(done[NUMPY]), Line(done[CLFEVAL], [ratio(done[CLFEVAL], done[NUMPY])])]
    return print_table(title, lines)
