"""Outputs are complete or absent, and what cannot be written is told in one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from allocsolve.api.files import replace_file

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs descriptors and signals of POSIX")


def _hear_interrupts() -> None:
    """Undo what a background shell without job control does to its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _start(tmp_path: Path, *words: str | Path, **options: object) -> subprocess.Popen[bytes]:
    options.setdefault("preexec_fn", _hear_interrupts)
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]  # options are of Popen
        [sys.executable, "-m", "allocsolve", *map(str, words)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        **options,
    )


def _assert_refused(process: subprocess.Popen[bytes]) -> None:
    _, error = process.communicate(timeout=60)
    assert process.returncode == 74
    assert len(error.splitlines()) == 1
    assert error.startswith(b"allocsolve: ")


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("words", [("bound",), ("solve", "--time-limit", "0")], ids=" ".join)
def test_a_full_disk_is_told(tmp_path: Path, ft06: Path, words: tuple[str, ...]) -> None:
    """Half a document with exit 0 would be the worst of all outcomes."""
    with Path("/dev/full").open("wb") as full:
        _assert_refused(_start(tmp_path, *words, ft06, stdout=full))
    _assert_refused(_start(tmp_path, *words, ft06, "-o", "/dev/full"))


@posix
def test_a_full_disk_is_told_for_help_too(tmp_path: Path) -> None:
    """Help is output like any other."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with Path("/dev/full").open("wb") as full:
        _assert_refused(_start(tmp_path, "--help", stdout=full))


@posix
def test_a_closed_stdout_is_told(tmp_path: Path, ft06: Path) -> None:
    """The next file that is opened must not become stdout by accident."""
    process = _start(tmp_path, "bound", ft06, preexec_fn=lambda: os.close(1))
    _assert_refused(process)
    process = _start(tmp_path, "bound", ft06, "-o", "b.json", preexec_fn=lambda: os.close(1))
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads((tmp_path / "b.json").read_bytes())["best"] == 55


@posix
def test_a_reader_that_went_away_is_told(tmp_path: Path, ft06: Path) -> None:
    """A broken pipe ends the program without a traceback."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = _start(tmp_path, "bound", ft06, stdout=write_end)
    os.close(write_end)
    _assert_refused(process)


@pytest.mark.parametrize("target", ["missing/plan.json", "."], ids=["no folder", "a folder"])
def test_an_impossible_target_is_told_before_the_work(
    tmp_path: Path, ft06: Path, target: str
) -> None:
    """Nobody wants to learn after an hour that the folder does not exist."""
    process = _start(tmp_path, "solve", ft06, "-o", target, stdout=subprocess.PIPE)
    _assert_refused(process)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """The old answer is better than half of the new one."""
    path = tmp_path / "plan.json"
    replace_file(path, b"old")
    with pytest.raises(TypeError):
        replace_file(path, "not bytes")  # type: ignore[arg-type]  # fails in the middle on purpose
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["plan.json"]


@posix
def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    """A temporary file is private; the result has the mode that any new file would have."""
    path = tmp_path / "plan.json"
    replace_file(path, b"1")
    other = tmp_path / "other"
    other.write_bytes(b"1")
    assert path.stat().st_mode == other.stat().st_mode
    path.chmod(0o640)
    replace_file(path, b"2")
    assert path.stat().st_mode & 0o777 == 0o640


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Whoever links a result to another place wants it written there."""
    (tmp_path / "real.json").write_bytes(b"old")
    (tmp_path / "link.json").symlink_to("real.json")
    replace_file(tmp_path / "link.json", b"new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_bytes() == b"new"


def _wait_for_an_incumbent(log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if log.exists() and "incumbent" in log.read_text(encoding="utf-8"):
            return
        time.sleep(0.05)
    pytest.fail("no incumbent within 30 s")


def _wait_until_caught(pid: int, number: int) -> None:
    """Wait until the process handles a signal; before that the interpreter has not begun."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        pytest.skip("the handlers of another process can be seen in /proc only")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        caught = next(r for r in status.read_text().splitlines() if r.startswith("SigCgt"))
        if int(caught.split()[1], 16) >> (number - 1) & 1:
            return
        time.sleep(0.001)
    pytest.fail("no handler within 30 s")


@posix
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
@pytest.mark.parametrize("method", ["auto", "cpsat", "list"])
def test_an_interrupt_keeps_the_best_answer(
    tmp_path: Path, crowded_file: Path, method: str, number: int, code: int
) -> None:
    """Ctrl-C after an hour must not throw the hour away; it is answered at once."""
    process = _start(
        tmp_path,
        *("solve", crowded_file, "--method", method, "--time-limit", "120s"),
        *("--log", "run.log"),
        stdout=subprocess.PIPE,
    )
    _wait_for_an_incumbent(tmp_path / "run.log")
    time.sleep(0.5)
    began = time.monotonic()
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert time.monotonic() - began < 5
    assert process.returncode == code
    document = json.loads(output)
    assert (document["status"], document["termination"]) == ("FEASIBLE", "interrupted")


@posix
def test_an_early_interrupt_still_gives_a_document(tmp_path: Path, ft06: Path) -> None:
    """Between the start and the search there is no answer yet, but a bound."""
    process = _start(tmp_path, "solve", ft06, "--progress", "json", stdout=subprocess.PIPE)
    _wait_until_caught(process.pid, signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)
    if output:
        assert json.loads(output)["kind"] == "dag"


@posix
def test_a_second_signal_ends_the_process(tmp_path: Path) -> None:
    """Whoever presses Ctrl-C twice does not want to wait for anything."""
    code = (
        "import os, signal, sys, time\n"
        "from allocsolve.cli.interrupts import Interrupts\n"
        "interrupts = Interrupts(); interrupts.install(); interrupts.attach(lambda: None)\n"
        "os.kill(os.getpid(), signal.SIGINT); print(interrupts.exit_code, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGTERM); print('still here', flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("130\n", 143)


@posix
def test_the_same_signal_twice_at_once_counts_once(tmp_path: Path, crowded_file: Path) -> None:
    """The command timeout signals the process and its group; the answer must not be lost."""
    words = ("solve", crowded_file, "--time-limit", "120s", "--log", "run.log")
    process = _start(tmp_path, *words, stdout=subprocess.PIPE)
    _wait_for_an_incumbent(tmp_path / "run.log")
    process.send_signal(signal.SIGTERM)
    time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 143
    assert json.loads(output)["termination"] == "interrupted"


@posix
def test_an_interrupt_while_reading_ends_soon(tmp_path: Path) -> None:
    """Standard input that never ends must not hold the process."""
    process = _start(tmp_path, "solve", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    time.sleep(2)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert time.monotonic() - began < 5
    assert process.returncode == 130
    process.communicate()
