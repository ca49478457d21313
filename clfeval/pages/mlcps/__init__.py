"""How a ranking by MLcps reads: who is first, what that depends on, which tables follow."""

from __future__ import annotations

from clfeval.pages.mlcps.charts import charts
from clfeval.pages.mlcps.headline import headline
from clfeval.pages.mlcps.sections import shown
from clfeval.pages.mlcps.tables import TABLES
from clfeval.schema import Page

PAGE = Page("mlcps", TABLES, headline, shown, charts)
