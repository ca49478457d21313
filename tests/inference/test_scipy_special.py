"""scipy.special as the program imports it: the functions of scipy, and numpy as it was."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from threading import Barrier, Thread

import numpy as np
from clfeval.inference.scipy_special import special

made = special()
import scipy.special
assert made is scipy.special
assert made.betainc.__doc__.startswith("betainc(x1, x2, x3"), made.betainc.__doc__[:50]
assert made.betaincinv(2, 3, 0.5) == scipy.special.betaincinv(2, 3, 0.5)
lazy = [name for name, one in sys.modules.items() if type(one).__name__ == "_LazyModule"]
assert lazy == [], lazy
assert "numpy.ma" not in sys.modules

found, start = [], Barrier(8)

def use():
    start.wait()
    found.append((np.ma.is_masked(3), np.random.default_rng(1).integers(9), np.char.upper("a")))

threads = [Thread(target=use) for _ in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(len(found), len(set(map(str, found))))
"""


def test_threads_find_every_part_of_numpy_after_scipy() -> None:
    """They load on first use, at most once: see what `importlib.util.LazyLoader` does otherwise."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("8 1\n", "")
