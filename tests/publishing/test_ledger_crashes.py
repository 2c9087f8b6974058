"""The ledger under kill -9, interruption and two publishers: docs/proofs/incremental.md."""

import os
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.privacy.fixedpoint import LEDGER_SHAVE, ONE_VOTE
from discreet.privacy.lifetime import Spends
from discreet.privacy.purses import PURE_SHARE, Division
from discreet.privacy.spec import PrivacySpec
from discreet.publishing.file_ledger import LOST, RECORDED, VISIBLE, FileLedger
from discreet.publishing.folder import finish_interrupted
from discreet.publishing.publish import publish
from discreet.release.release import Release
from discreet.schemes.base import Publishing
from discreet.schemes.chorus.scheme import Chorus
from tests.conftest import random_ratings
from tests.processes import Ready, doomed, seconds_of
from tests.publishing.ledgers import ITEMS, TALLY, put


@pytest.mark.parametrize("moment", ["recorded", "in place"])
def test_an_interrupted_publication_is_finished_by_the_next(
    moment: str, ledger: FileLedger, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = ledger.path.parent / "release"
    put(ledger, small.subset(small.user < 20))
    name = "put_in_place" if moment == "recorded" else "FileLedger.settle"
    place = "discreet.publishing.folder.put_in_place"
    if name != "put_in_place":
        place = "discreet.publishing.file_ledger.FileLedger.settle"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, killed)
    with pytest.raises(KeyboardInterrupt):
        put(ledger, small)
    monkeypatch.undo()
    assert ledger.releases()[-1].state == RECORDED
    spent = ledger.spends(small).epsilon
    with ledger.publishing():
        finish_interrupted(ledger)
    entry = ledger.releases()[-1]
    assert entry.state == VISIBLE
    assert Release.load(out).certificate.digest == entry.digest
    assert (ledger.spends(small).epsilon == spent).all()  # finished, not paid for twice


def test_a_staged_release_that_was_lost_costs_its_budget(
    ledger: FileLedger, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(staged: Path, _: Path) -> None:
        for file in staged.iterdir():
            file.unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.publishing.folder.put_in_place", killed)
    with pytest.raises(KeyboardInterrupt):
        put(ledger, small)
    monkeypatch.undo()
    release = put(ledger, small)
    assert [r.state for r in ledger.releases()] == [LOST, VISIBLE]
    assert release.tallies is not None
    levels = PrivacySpec.column().levels(small)
    np.testing.assert_allclose(ledger.spends(small).epsilon, levels, atol=2 / ONE_VOTE)


SCHEMES: dict[str, Publishing] = {
    "Tally": TALLY,
    "Chorus": Chorus(items=ITEMS, delta=1e-4, factors=1, rounds=2, publications=4),
}


FEW = 3
"""Publications in the time within which a process is killed, whatever they take where it runs."""


def publish_for_ever(ready: Ready, folder: Path, name: str) -> None:
    schedule, ledger = batches(), FileLedger(folder / "ledger.db")
    ready.send("ready")
    for number in count(1):
        put_next(ledger, folder / "release", schedule, name)
        if number == FEW:
            ready.send("a few")


def batches() -> list[Ratings]:
    """The public schedule: batch k holds the first 40 k people."""
    data = random_ratings(4000, 30, 12_000, seed=9)
    return [data.subset(data.user < 40 * k) for k in range(1, 101)]


def put_next(ledger: FileLedger, out: Path, schedule: list[Ratings], name: str) -> None:
    """Publish the batch after the last recorded one."""
    batch = schedule[min(len(ledger.releases()), 99)]
    publish(SCHEMES[name], batch, None, out=out, ledger=ledger)


def least_spends(name: str, data: Ratings, publications: int) -> Spends:
    """What so many publications have used of every record: who came with one is in all since."""
    levels = PrivacySpec.column().levels(data)
    nothing = Spends.none(len(data))
    times = np.clip(publications - data.user // 40, 0, None)
    if name == "Tally":
        return nothing._replace(epsilon=levels * (times > 0))
    division = Division(share=PURE_SHARE, t=1.0, delta=1e-4, publications=4)
    once = division.allowed(levels, nothing)
    return nothing._replace(
        pure=once.pure * (times > 0), mu2=np.minimum(times, 4) * once.mu2 * (1 - LEDGER_SHAVE)
    )


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
@pytest.mark.parametrize("name", SCHEMES)
def test_killed_at_random_moments_the_ledger_never_shows_less_than_was_used(
    name: str, tmp_path: Path
) -> None:
    """DISCREET_KILLS sets how often a publishing process is killed (12 by default)."""
    rng = np.random.default_rng(int(time.time()))
    schedule = batches()
    few = seconds_of(publish_for_ever, tmp_path, name)
    everybody, levels = schedule[-1], PrivacySpec.column().levels(schedule[-1])
    for _ in range(int(os.environ.get("DISCREET_KILLS", "12"))):
        with doomed(publish_for_ever, tmp_path, name):
            time.sleep(rng.uniform(0.0, few))
        ledger = FileLedger(tmp_path / "ledger.db", create=False)
        entries = ledger.releases()
        release = Release.load(tmp_path / "release")  # whole, or this raises
        [used] = [e.number for e in entries if e.digest == release.certificate.digest]
        # Whatever the visible release has used is in the ledger, and no more than there is.
        spends = ledger.spends(everybody)
        for spent, least in zip(spends[1:], least_spends(name, everybody, used)[1:], strict=True):
            assert (spent >= least - 2 / ONE_VOTE).all()
        assert (spends.epsilon + spends.pure <= levels).all()
        assert ledger.share == release.certificate.parameters.get("pure_share")
        if name == "Chorus":
            assert ledger.share == PURE_SHARE
            whole = least_spends(name, everybody, 200).mu2
            assert (spends.mu2 <= whole * (1 + 3 * LEDGER_SHAVE)).all()
    put_next(ledger, tmp_path / "release", schedule, name)  # and after all that it goes on
    entries = ledger.releases()
    assert entries[-1].state == VISIBLE
    assert Release.load(tmp_path / "release").certificate.digest == entries[-1].digest
    print(f"{name}: {len(entries)} publications, {sum(e.state == LOST for e in entries)} lost")


def test_two_processes_publishing_at_once_lose_nothing(tmp_path: Path, small: Ratings) -> None:
    """Each of two processes publishes its half of the people; both halves end up in the release."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom tests.conftest import random_ratings\n"
        "from tests.publishing.ledgers import TALLY\nfrom discreet import FileLedger, publish\n"
        "from discreet.schemes import votes\n"
        "votes.share_to_add = lambda *_: 1.0\n"  # so that every batch's noise is seen
        "data, half = random_ratings(40, 30, 400, seed=1), int(sys.argv[2])\n"
        "ledger = FileLedger(Path(sys.argv[1]) / 'ledger.db')\n"
        "for k in range(4):\n"
        "    mine = data.subset(data.user % 8 == 2 * k + half)\n"
        "    publish(TALLY, mine, None, out=Path(sys.argv[1]) / 'release', ledger=ledger)\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(half)]) for half in (0, 1)
    ]
    assert [child.wait(timeout=120) for child in children] == [0, 0]
    ledger = FileLedger(tmp_path / "ledger.db")
    assert [r.state for r in ledger.releases()] == [VISIBLE] * 8
    release = Release.load(tmp_path / "release")
    assert release.certificate.digest == ledger.releases()[-1].digest
    assert release.tallies is not None
    per_batch = 2 * (np.nextafter(float(ONE_VOTE), np.inf) / ONE_VOTE) ** 2
    assert release.tallies.noise_variance[0] == pytest.approx(8 * per_batch)
    levels = PrivacySpec.column().levels(small)
    np.testing.assert_allclose(ledger.spends(small).epsilon, levels, atol=2 / ONE_VOTE)
