"""The notebooks run from top to bottom."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

TOP = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((TOP / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_notebook_runs(
    path: Path, tmp_path: Path, benchmarks_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader starts with the notebook; each cell must work in a fresh kernel."""
    monkeypatch.setenv("ALLOCSOLVE_BENCHMARKS", str(benchmarks_dir))
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    assert all(cell.get("execution_count") for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_notebook_is_committed_without_output(path: Path) -> None:
    """Outputs would make every change of the notebook unreadable."""
    notebook = nbformat.read(path, as_version=4)
    assert [cell for cell in notebook.cells if cell.get("outputs")] == []
