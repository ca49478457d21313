"""Gates: limits and a baseline, judged on unrounded values; an undefined value never passes."""

from clfeval.gates.check import check_ranges as check_ranges
from clfeval.gates.judge import evaluate_gates as evaluate_gates
from clfeval.gates.judge import evaluate_limits as evaluate_limits
