"""What all pictures share: forms, colours, and drawing through matplotlib (extra ``plot``)."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from allocsolve.models.errors import SolverMissing, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "FORMS", "GRID", "INK", "WIDTH", "amount", "dress", "picture"]

FORMS = ("svg", "png", "html")
"""What pictures can be written as."""

COLOURS = (
    "#4C78A8",
    "#F58518",
    "#54A24B",
    "#E45756",
    "#72B7B2",
    "#B279A2",
    "#EECA3B",
    "#9D755D",
    "#7F8FA9",
    "#FF9DA6",
    "#2F9E8F",
    "#8C6BB1",
)
INK = "#333333"
GRID = "#E3E6EA"
WIDTH = 10.0
"""Inches."""

_LARGEST_WHOLE, _ROUNDED = 1e15, 1e6
"""Below the first whole numbers are written in full, from the second on others are rounded."""

_lock = threading.Lock()


def picture(draw: Callable[[], Figure], form: str, heading: str) -> bytes:
    """Return a picture in one of the :data:`FORMS`.

    Parameters
    ----------
    draw
        Draws the figure; called with the settings of all pictures.
    heading
        Title of the page of form ``html``, which needs no other file.

    Returns
    -------
    bytes
        The same for the same figure and version of matplotlib.

    Raises
    ------
    SolverMissing
        If matplotlib is not installed.
    UsageError
        If there is no such form.
    """
    if form not in FORMS:
        raise UsageError(f"form '{form}' is not allowed\n  allowed: {', '.join(FORMS)}")
    try:
        import matplotlib as mpl
    except ImportError:
        raise SolverMissing("plots need matplotlib: pip install 'allocsolve[plot]'") from None
    with (
        _lock,
        mpl.rc_context(
            {
                "svg.hashsalt": "allocsolve",  # no random ids
                "font.family": "DejaVu Sans",
                "font.size": 8,
                "text.parse_math": False,  # a task may be called $x$
            }
        ),
    ):
        image = _saved(draw(), "png" if form == "png" else "svg")
    return _page(image, heading) if form == "html" else image


def amount(value: float | Fraction) -> str:
    """Return a number as titles and labels tell it: whole ones in full, others to 6 digits."""
    number = float(value)
    if number == round(number, 0) and abs(number) < _LARGEST_WHOLE:
        return str(int(number))
    return f"{number:.0f}" if _ROUNDED <= abs(number) < _LARGEST_WHOLE else f"{number:.6g}"


def _saved(figure: Figure, form: str) -> bytes:
    target = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    figure.savefig(target, format=form, dpi=150, metadata=metadata)
    return target.getvalue()


def _page(image: bytes, heading: str) -> bytes:
    from html import escape

    drawing = image.decode()
    drawing = drawing[drawing.index("<svg") :]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(heading)}</title>"
        "<style>body{margin:1rem;font-family:sans-serif}svg{max-width:100%;height:auto}</style>"
        f"</head>\n<body>\n{drawing}</body></html>\n"
    ).encode()


def dress(axis: Axes, title: str | None = None, *, pad: float = 12) -> None:
    """Give an axis the look of all pictures; ``pad`` is the room below the title in points."""
    axis.set_axisbelow(True)
    axis.grid(color=GRID, linewidth=0.7)
    axis.tick_params(which="both", length=0, labelcolor=INK)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color("#B8BEC6")
    if title is not None:
        axis.set_title(title, loc="left", fontsize=11, color=INK, pad=pad)
