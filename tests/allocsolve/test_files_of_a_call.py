"""The files that a call names: none is destroyed, and no trouble with one costs an answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

import allocsolve
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import NoSolution, UsageError

Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]
QUICK = ("--method", "list", "--time-limit", "0.1")

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs devices and signals of POSIX")


@pytest.fixture
def shop(ft06: Path, tmp_path: Path) -> Path:
    """A file of which nothing may be lost."""
    return Path(shutil.copy(ft06, tmp_path / "shop.txt"))


@pytest.fixture
def plan(allocsolve_command: Run, shop: Path, tmp_path: Path) -> Path:
    """An answer to it."""
    path = tmp_path / "plan.json"
    assert allocsolve_command("solve", shop, *QUICK, "-o", path).returncode == 0
    return path


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("solve shop.txt -o shop.txt", id="answer onto the instance"),
        pytest.param("solve shop.txt -o ./shop.txt", id="under another name"),
        pytest.param("solve shop.txt --log shop.txt", id="log onto the instance"),
        pytest.param("solve shop.txt --warm-start plan.json --log plan.json", id="log, warm start"),
        pytest.param("solve shop.txt -o new.json --log new.json", id="log onto the answer"),
        pytest.param("bound shop.txt -o shop.txt", id="bound onto the instance"),
        pytest.param("check shop.txt plan.json -o plan.json", id="verdict onto the answer"),
        pytest.param("export shop.txt plan.json -o plan.json", id="export onto the answer"),
    ],
)
def test_no_verb_destroys_what_it_reads(
    allocsolve_command: Run, shop: Path, plan: Path, words: str
) -> None:
    """A slip of the hand must not cost the only copy of an instance."""
    before = shop.read_bytes(), plan.read_bytes()
    done = allocsolve_command(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert "another file to write" in done.stderr
    assert (shop.read_bytes(), plan.read_bytes()) == before


@posix
def test_a_link_to_the_instance_is_the_instance(allocsolve_command: Run, shop: Path) -> None:
    """Links lead to the file too, so they are followed before anything is written."""
    before = shop.read_bytes()
    (shop.parent / "link.txt").symlink_to(shop)
    os.link(shop, shop.parent / "hard.txt")
    for name in ("link.txt", "hard.txt"):
        assert allocsolve_command("solve", shop, *QUICK, "-o", name).returncode == 2
    assert shop.read_bytes() == before


def test_an_answer_may_replace_its_warm_start(
    allocsolve_command: Run, shop: Path, plan: Path
) -> None:
    """Improving a plan in place is what warm starts are for."""
    done = allocsolve_command("solve", shop, *QUICK, "--warm-start", plan, "-o", plan)
    assert done.returncode == 0


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_log_that_cannot_be_written_costs_no_answer(allocsolve_command: Run, shop: Path) -> None:
    """The answer is written, then the log is complained about in one line."""
    done = allocsolve_command("solve", shop, *QUICK, "--log", "/dev/full")
    assert done.returncode == 74
    assert json.loads(done.stdout)["status"] == "FEASIBLE"
    assert done.stderr == "allocsolve: /dev/full: No space left on device\n"


@posix
def test_long_names(allocsolve_command: Run, shop: Path) -> None:
    """A name as long as the system allows is fine; a longer one is told before the work."""
    longest = "x" * (os.pathconf(shop.parent, "PC_NAME_MAX") - 5) + ".json"
    assert allocsolve_command("solve", shop, *QUICK, "-o", longest).returncode == 0
    done = allocsolve_command("bound", shop, "-o", "x" + longest)
    assert (done.returncode, len(done.stderr.splitlines())) == (74, 1)


@posix
def test_stdout_by_its_name(allocsolve_command: Run, shop: Path) -> None:
    """``/dev/stdout`` is the real standard output, not the one that engines write to."""
    assert json.loads(allocsolve_command("bound", shop, "-o", "/dev/stdout").stdout)["best"] == 55


@posix
def test_a_name_in_another_encoding(allocsolve_command: Run, shop: Path) -> None:
    """The name of a file is no reason to lose an answer."""
    odd = shop.parent / os.fsdecode(b"sh\xffp.txt")
    try:
        shutil.copy(shop, odd)
    except OSError:
        pytest.skip("the file system refuses this name")
    done = allocsolve_command("solve", odd, *QUICK)
    assert done.returncode == 0
    assert json.loads(done.stdout)["instance"]["name"] == "sh\N{REPLACEMENT CHARACTER}p"


@posix
def test_an_interrupt_that_is_swallowed_comes_again(tmp_path: Path) -> None:
    """Python drops what is raised in a destructor, so the interrupt is raised once more."""
    code = """if True:
        import os, signal, time
        from allocsolve.cli.interrupts import Interrupted, Interrupts

        class Swallower:
            def __del__(self):
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(2)

        interrupts = Interrupts()
        interrupts.install()
        interrupts.defer()
        try:
            Swallower()
            time.sleep(20)
        except Interrupted:
            interrupts.settle()
            print(interrupts.exit_code)
        """
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=15,
    )
    assert (done.stdout, done.stderr) == ("143\n", "")


def test_results_as_tables(project: DagProblem, tmp_path: Path) -> None:
    """The suffix or the format decides; what an object cannot be written as is refused."""
    result = allocsolve.solve(project, threads=1)
    allocsolve.write(result, tmp_path / "plan.csv")
    allocsolve.write(result.schedule, tmp_path / "plan2.csv")
    allocsolve.write(result, tmp_path / "plan3.txt", format="csv")
    texts = {(tmp_path / name).read_text() for name in ("plan.csv", "plan2.csv", "plan3.txt")}
    assert len(texts) == 1
    assert texts.pop().startswith("task,start,end")
    allocsolve.write(result.schedule, tmp_path / "plan.trace")
    assert json.loads((tmp_path / "plan.trace").read_text())
    with pytest.raises(UsageError):
        allocsolve.write(allocsolve.bound(project), tmp_path / "b.csv", format="csv")
    nothing = allocsolve.solve(project, time_limit=0)
    with pytest.raises(NoSolution):
        allocsolve.write(nothing, tmp_path / "nothing.csv")
    assert not (tmp_path / "nothing.csv").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        *({"threads": value} for value in (1.5, "2", True, 10**6)),
        *({"seed": value} for value in (1.5, "2", True)),
        *({"time_limit": value} for value in ("5", True, 10**400)),
        *({"gap": value} for value in ("1%", None)),
        *({"method": None}, {"objective": 5}),
    ],
    ids=lambda wrong: str(wrong)[:30],
)
def test_arguments_of_the_wrong_sort(project: DagProblem, wrong: dict[str, object]) -> None:
    """What is no number would otherwise come out of some arithmetic, or into the document."""
    with pytest.raises(UsageError, match="is not allowed"):
        allocsolve.solve(project, **wrong)  # type: ignore[call-overload]  # wrong on purpose
