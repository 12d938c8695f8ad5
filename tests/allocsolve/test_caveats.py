"""What the checker did not try is told beside an answer that it accepts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import allocsolve
from allocsolve.api import solving
from allocsolve.models.coded.answer import Code, CodedAnswer
from allocsolve.models.coded.data import Gradient, Node
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Law
from allocsolve.models.result import SolverInfo, Status, Termination
from allocsolve.solvers.control import ControlOf, Outcome, Proof

ENGINE = SolverInfo("engine", "1", 0, 1)


def _repeated(nodes: int, stragglers: int) -> tuple[CodedProblem, CodedAnswer]:
    """Return groups of ``stragglers + 1`` nodes that add up the same partitions."""
    size = stragglers + 1
    problem = CodedProblem(
        task=Gradient(partitions=nodes, stragglers=stragglers),
        nodes=[Node(id=f"w{i}", runtime=Law(law="deterministic", value=1)) for i in range(nodes)],
    )
    parts = [[size * (i // size) + k for k in range(size)] for i in range(nodes)]
    rows = tuple(tuple(1.0 if p in mine else 0.0 for p in range(nodes)) for mine in parts)
    code = Code(matrix=rows)
    return problem, CodedAnswer.of([size] * nodes, partitions=parts, code=code, batches=1)


SMALL, LARGE = _repeated(4, 1), _repeated(20, 9)


def test_a_sample_of_straggler_sets_is_told() -> None:
    """Of 167 960 sets 220 are tried, so ``valid`` alone would promise too much."""
    report = allocsolve.check(*LARGE)
    assert report.valid
    (warning,) = report.warnings
    assert "decodability is not proved" in warning
    assert "of 167960 sets" in warning
    assert "slowest node" in warning


def test_all_sets_are_a_proof() -> None:
    """Where every set was tried there is nothing to warn of."""
    report = allocsolve.check(*SMALL)
    assert (report.valid, report.warnings) == (True, ())


def test_coverage_is_a_proof() -> None:
    """Without a matrix no set has to be tried: a code exists for the partitions."""
    problem, answer = LARGE
    bare = CodedAnswer.of(answer.loads, partitions=answer.partitions, batches=1)
    report = allocsolve.check(problem, bare)
    assert (report.valid, report.warnings) == (True, ())


def test_a_wrong_answer_has_no_caveat() -> None:
    """That some sets decode is not said where others are known not to."""
    problem, answer = LARGE
    assert answer.code.matrix is not None
    row = (0.0,) * 20
    wrong = CodedAnswer.of(
        answer.loads,
        partitions=answer.partitions,
        code=Code(matrix=(row,) * 10 + answer.code.matrix[10:]),
        batches=1,
    )
    report = allocsolve.check(problem, wrong)
    assert [violation.rule for violation in report.violations] == ["decodability"]
    assert report.warnings == ()


@pytest.mark.parametrize(
    ("pair", "told"), [pytest.param(LARGE, True, id="sample"), pytest.param(SMALL, False, id="all")]
)
def test_a_proven_optimum_does_not_hide_the_sample(
    monkeypatch: pytest.MonkeyPatch, pair: tuple[CodedProblem, CodedAnswer], told: bool
) -> None:
    """The bound says that nothing is better; that it decodes still rests on a sample."""
    problem, answer = pair

    def method(_: CodedProblem, control: ControlOf[CodedAnswer, float]) -> Outcome:
        control.offer(answer, float(answer.loads[0]), "pretended")
        return Outcome(Proof.OPTIMAL, Termination.FINISHED, ENGINE)

    row = SimpleNamespace(name="pretended", exact=True, load=lambda: method)
    monkeypatch.setattr(solving, "method_named", lambda *_: row)
    monkeypatch.setattr(solving, "refuse_unsupported", lambda *_: None)
    result = allocsolve.solve(problem, threads=1)
    assert (result.status, result.certificate.checked) == (Status.OPTIMAL, True)
    assert ["decodability is not proved" in warning for warning in result.warnings] == [True] * told
