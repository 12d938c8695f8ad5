"""Pictures of plans and of what they are worth, through matplotlib (extra ``plot``)."""

from __future__ import annotations

from allocsolve.plots.completion import completion
from allocsolve.plots.distribution import ecdf
from allocsolve.plots.fitted import fits
from allocsolve.plots.frame import FORMS
from allocsolve.plots.gantt import gantt
from allocsolve.plots.replications import replication_gantt
from allocsolve.plots.shares import shares

__all__ = ["FORMS", "completion", "ecdf", "fits", "gantt", "replication_gantt", "shares"]
