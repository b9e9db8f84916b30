"""Sentences of pages that no cell computes: what they say of the library is so."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import fairbook as fb
from fairbook.traces.paths import data_path
from tests.commands import run
from tests.conftest import ROOT

SEEDS = range(40)


def exact(x: float) -> Fraction:
    return Fraction(float(x)).limit_denominator(1000)


def test_instances_of_dmfa_srq_told_on_its_pages() -> None:
    """What no row of the ledger and no cell computes: the numbers of the story, and of the remarks of the theory."""
    more = fb.dmfa_srq([[1, 1 / 2], [1 / 2, 1], [1, 1]], weights=[4, 4, 5])  # more brought, more received
    assert [exact(x) for x in more.tasks] == [Fraction(16, 3), Fraction(16, 3), 5]
    truth, lie = ([[1, 1], [1 / 2, 1], [1, 1 / 2]], [[1, 1 / 2], [1 / 2, 1], [1, 1 / 2]])  # Lemma 4
    honest, lying = fb.dmfa_srq(truth, weights=[1, 1, 1]), fb.dmfa_srq(lie, weights=[1, 1, 1])
    assert [exact(x) for x in honest.tasks] == [Fraction(6, 5)] * 3
    assert [exact(x) for x in lying.tasks] == [Fraction(4, 3), Fraction(4, 3), 1]
    assert lying.use_at(2).tolist() == pytest.approx([2, 2])  # inequality (7): no more memory than under the truth
    four = fb.dmfa_srq([[1, 1 / 2], [1 / 2, 1], [1 / 2, 1], [1, 1 / 2]], weights=[1 / 4, 1 / 4, 1 / 2, 1 / 4])  # (9)
    before, after = four.tasks_at(3), four.tasks_at(4)
    assert [exact(x) for x in before] == [Fraction(1, 3), Fraction(1, 3), Fraction(1, 2)]
    assert after[:2].tolist() == before[:2].tolist()
    assert after[2] > before[2]
    hand = fb.dmfa_srq([[1, 1 / 2], [1 / 2, 1], [1 / 2, 1], [1, 1 / 2]], weights=[3, 3, 6, 6])  # the exercise
    assert [exact(x) for x in hand.levels_at(4)] == [Fraction(4, 3)] * 4


def poured(w: np.ndarray, low: np.ndarray, high: np.ndarray, C: float) -> np.ndarray:
    """Raise one level between two ends, by bisection."""
    down, up = 0.0, 1e9
    for _ in range(200):
        level = (down + up) / 2
        down, up = (level, up) if (w * np.clip(level, low, high)).sum() <= C else (down, level)
    return np.asarray(w * np.clip(down, low, high))


@pytest.mark.parametrize("seed", SEEDS)
def test_floors_of_virtual_clusters_are_a_past_in_dmfa_srq(seed: int) -> None:
    """The page's construction, where the wishes do not fit; floors may be equal, and the minima may take all."""
    rng = np.random.default_rng(seed)
    wish = rng.integers(1, 9, 4).astype(float)
    own = wish * rng.choice([0.25, 0.5, 0.75], 4)
    C = own.sum() if seed % 4 == 0 else rng.uniform(own.sum(), wish.sum())
    order = np.argsort(-own / wish, kind="stable")
    wishes, floors, chain = wish[order], (own / wish)[order], fb.DmfaSrq(1)
    bring = wishes * np.maximum(floors / floors.min() - 1, 0)
    bring[-1] = (C - own.sum()) / floors.min()
    for user, (amount, more) in enumerate(zip(wishes, bring, strict=True)):
        chain.arrive(user, [1], amount)
        if more > 0:
            chain.arrive("guest", [1], more)
            chain.depart("guest", "stays")
    given = chain.levels * floors.min() * wishes
    np.testing.assert_allclose(given, poured(wishes, floors, np.ones(4), C), rtol=1e-9)
    pool = fb.virtual_cluster(wishes, 1 - floors, [C], method="spanning", whole=False)
    np.testing.assert_allclose(given, pool.vms, rtol=1e-9)


def test_drfh_and_spanning_have_one_least_fraction() -> None:
    rng, apart = np.random.default_rng(0), 0
    for _ in range(200):
        wish, room = rng.integers(1, 9, 4), rng.integers(1, 7, 3)
        one_by_one = fb.drfh(np.ones((4, 1)), room[:, None], max_tasks=wish, weights=wish).tasks / wish
        spanned = fb.virtual_cluster(wish, 1, room, method="spanning")
        assert one_by_one.min() == pytest.approx(spanned.min_fraction)
        apart += not np.allclose(np.sort(one_by_one), np.sort(spanned.vms / wish))
    assert apart > 0  # ties go elsewhere


def test_commands_to_copy_are_those_that_ran_and_print_the_numbers_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tutorial, sheet = ((ROOT / f"book/{name}.md").read_text("utf8") for name in ("tutorial", "cluster"))
    copied = [re.findall(r"^fairbook .*", "\n".join(re.findall(r"^```bash\n(.*?)```", page, re.M | re.S)), re.M)
              for page in (tutorial, sheet)]  # fmt: skip
    assert copied[0] == re.findall(r'^shell\("(.*)"\)$', tutorial, re.M)
    for name, example in {"cluster": "kubernetes", "jobs": "squeue", "nodes": "sinfo"}.items():
        (tmp_path / f"{name}.json").write_text(data_path(f"example_{example}.json").read_text())
    (tmp_path / "queues.csv").write_text("user,weight,min_tasks\nvision,2,0\ntrain,1,1.5\n")
    (tmp_path / "days.csv").write_text("day,team,tasks,cpu,memory\nMon,a,60,2,4\nMon,b,50,4,32\nTue,a,40,2,4\n")
    monkeypatch.chdir(tmp_path)
    known = {"2.667": f"{8 * 2 / 3 / 2:.3f}"}  # without minima: two thirds of eight GPUs, two a task
    known |= dict.fromkeys(("50.31%", "1196"), (ROOT / "book/tutorial.ipynb").read_text("utf8"))
    for told, line in re.findall(r"\*\* (.*?)\n\n```bash\n(.*?)\n", sheet, re.S):
        said = run(*line.split()[1:])
        assert said[0] == 0, said
        for number in re.findall(r"\d+\.\d+%?|\d{4}", told):
            assert number in known.get(number, said[1]), (number, line)
