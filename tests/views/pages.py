"""Results whose pages and pictures are looked at, and tables that are hard to draw."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import clfeval
from tests.samples import logistic

FIXTURES = Path(__file__).parents[2] / "fixtures"
CANCER = FIXTURES / "breast-cancer"
HOSTILE = [
    "</script><script>alert(1)</script>",
    "]]>",
    "\"'<b>&",
    "nul\x00here",
    "\u202eright to left\u202c",
    "x" * 300,
]


def hostile_table(rows: int = 60) -> pl.DataFrame:
    """Return a table whose models have names that a page must not run."""
    rng = np.random.default_rng(1)
    truth = rng.random(rows) < 0.5
    return pl.DataFrame(
        {
            "truth": truth.astype(int),
            **{
                name: np.round(
                    np.clip(0.5 + 0.3 * (truth - 0.5) + rng.normal(0, 0.2, rows), 0, 1), 3
                )
                for name in HOSTILE
            },
        }
    )


def many_models(models: int, rows: int = 120) -> pl.DataFrame:
    """Return scores of many models, of which some are much worse."""
    rng = np.random.default_rng(models)
    truth = rng.random(rows) < 0.4
    return pl.DataFrame(
        {
            "truth": truth.astype(int),
            **{
                f"m{i}": logistic((truth - 0.5) * 4 / (1 + i / 4) + rng.normal(0, 1, rows), 4)
                for i in range(models)
            },
        }
    )


def _made(make: Callable[..., Any], *given: Any, **options: Any) -> Callable[[], Any]:
    return cache(lambda: make(*given, **options))


RESULTS: dict[str, Callable[[], Any]] = {
    "report": _made(clfeval.report, str(CANCER / "scores.csv"), positive="malignant"),
    "pairs": _made(
        clfeval.report,
        str(CANCER / "scores.csv"),
        positive="malignant",
        reference="all-pairs",
        abstain="10%",
        margin={"roc_auc": 0.02},
    ),
    "classes": _made(clfeval.report, str(FIXTURES / "digits" / "probabilities.csv")),
    "labels": _made(
        clfeval.report, str(CANCER / "labels.csv"), positive="malignant", reference="svm"
    ),
    "mars": _made(clfeval.mars, str(CANCER / "labels.csv"), positive="malignant"),
    "sweep": _made(clfeval.mars, str(CANCER / "scores.csv"), positive="malignant", sweep="top"),
    "phidelta": _made(
        clfeval.phidelta,
        str(CANCER / "scores.csv"),
        positive="malignant",
        prevalence=0.01,
        isometrics={"accuracy": [0.9]},
    ),
    "tune-jpt": _made(
        clfeval.tune_jpt, str(CANCER / "scores.csv"), positive="malignant", prevalence=0.01
    ),
    "mlcps": _made(clfeval.mlcps, str(FIXTURES / "metrics" / "test.csv")),
}
