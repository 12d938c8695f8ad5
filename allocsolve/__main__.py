"""``python -m allocsolve`` is the command line."""

from __future__ import annotations

from allocsolve.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
