"""Gates: limits and a baseline, judged on unrounded values; an undefined value never passes."""

from clfeval.gates.check import check_ranges as check_ranges
from clfeval.gates.judge import judge as judge
from clfeval.gates.judge import judged as judged
