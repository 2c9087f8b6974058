"""This library and its peers on the same split, one after another: times as ratios.

    python benchmarks/compare.py                       # MovieLens 1M, all peers
    python benchmarks/compare.py --data netflix-10m --target 0.85 --only libmf lenskit
    python benchmarks/compare.py --with-spark          # Spark's ALS too; needs Java

Every peer is installed into an environment of its own under .bench, runs in a process of its own,
and does the same work with its own means: train with 20 factors on two threads for each of its
regularisations and several numbers of epochs, score all test pairs, list ten unrated items for
everybody. Rounds go through all libraries in turn; the least time of all rounds counts. The table
and a figure of test error against training time are written beside the environments.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator

from common import RESULTS
from discreet.evaluate.splits import one_fold
from discreet.figure import canvas
from discreet.readers import datasets
from report import keep

HERE = Path(__file__).parent
PEERS = {
    "libmf": ("libmf==0.9.2", "libmf"),
    "implicit": ("implicit==0.7.3", "implicit"),
    "surprise": ("scikit-surprise==1.1.5 pandas", "surprise"),
    "cornac": ("cornac==3.0.1", "cornac"),
    "lenskit": ("lenskit==2025.8.1", "lenskit"),
    "cmfrec": ("cmfrec==3.5.1.post14 threadpoolctl pandas", "cmfrec"),
    "spark": ("pyspark==4.0.1 pandas pyarrow", "pyspark"),
}
OURS = "discreet"
BY_SGD = "discreet by SGD"


def environment(peer: str, folder: Path) -> Path:
    """The interpreter of a peer's own environment, made if it is not there."""
    python = folder / peer / "bin" / "python"
    marker = folder / peer / "installed"
    if not marker.exists():
        print(f"installing {peer} ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder / peer], check=True)
        wanted = PEERS[peer][0].split()
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        marker.touch()
    return python


def import_seconds(python: Path, module: str) -> float:
    """The least of several imports, less the start of a bare interpreter; 0 if lost in noise."""

    def seconds(code: str) -> float:
        began = time.perf_counter()
        subprocess.run([python, "-c", code], check=True, capture_output=True)
        return time.perf_counter() - began

    imported, bare = (min(seconds(code) for _ in range(5)) for code in (f"import {module}", "pass"))
    return max(imported - bare, 0.0)


def run(name: str, python: Path, folder: Path, epochs: list[int]) -> dict[str, Any]:
    """One round of one library."""
    script = HERE / "peers" / f"run_{'discreet_sgd' if name == BY_SGD else name}.py"
    done = subprocess.run(
        [python, script, folder, ",".join(map(str, epochs))],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "2"},
    )
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def least_of(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The least times of all rounds; errors differ by chance alone, so those of the last count."""
    best = dict(rounds[-1])
    for key in ("prepare", "first_fit", "epoch", "score", "top_ten", "peak_gib", "import"):
        if key in best:
            best[key] = min(r[key] for r in rounds)
    if "curve" in best:
        curves = [r["curve"] for r in rounds]
        best["curve"] = [
            [*points[-1][:2], min(p[2] for p in points), max(p[3] for p in points)]
            for points in zip(*curves, strict=True)
        ]
    return best


def to_target(found: dict[str, Any], target: float) -> tuple[float, str]:
    """The least training time that reaches the target, and with what; infinite if none does."""
    reached = [point for point in found.get("curve", []) if point[3] <= target]
    if not reached:
        closest = min((point[3] for point in found.get("curve", [])), default=None)
        return np.inf, "" if closest is None else f"at best {closest:.4f}"
    regularisation, epochs, seconds, _ = min(reached, key=lambda point: point[2])
    return seconds, f"{epochs} epoch{'s' * (epochs > 1)}, regularisation {regularisation:g}"


def table(results: dict[str, dict[str, Any]], target: float) -> tuple[list[str], list[list[str]]]:
    """Times and how many times ours they are: columns and rows."""
    ours = results[OURS]

    def cell(value: float | None, own: float | None, times: float = 1e3) -> str:
        if value is None or not np.isfinite(value):
            return "-"
        ratio = "" if own is None else f" ({value / own:.1f}x)"
        return f"{times * value:,.0f}{ratio}"

    columns = [
        "library", "epoch or sweep, ms", f"RMSE {target:g}: training, ms", "how",
        "from arrays: table and training, ms", "test pairs, ms", "top 10 for all, ms",
        "import, ms", "peak memory, GiB",
    ]  # fmt: skip
    rows = []
    own_target = to_target(ours, target)[0]
    for name, found in results.items():
        seconds, how = to_target(found, target)
        lists = cell(found.get("top_ten"), ours["top_ten"])
        if "listed" in found and found["listed"] < ours["listed"]:
            lists += f", from {found['listed']} people"
        rows.append(
            [
                f"{name} {found['version']}",
                cell(found["epoch"], ours["epoch"]),
                cell(seconds, own_target),
                how,
                cell(found["prepare"] + seconds, ours["prepare"] + own_target),
                cell(found.get("score"), ours["score"]),
                lists,
                cell(found["import"], ours["import"]),
                f"{found['peak_gib']:.2f}",
            ]
        )
    return columns, rows


def draw(results: dict[str, dict[str, Any]], target: float, title: str, path: Path) -> None:
    """The best test error that each library reaches within a training time."""
    with canvas(path) as axes:
        worst = 0.0
        for name, found in results.items():
            points = sorted((point[2], point[3]) for point in found.get("curve", []))
            if not points:
                continue
            seconds, errors = np.array(points).T
            errors = np.minimum.accumulate(errors)
            worst = max(worst, float(errors.min()))
            axes.step(
                seconds,
                errors,
                where="post",
                label=name,
                linewidth=2.5 if name in (OURS, BY_SGD) else 1.3,
            )
        axes.axhline(target, color="0.5", linewidth=0.8, linestyle=":")
        axes.set(xscale="log", xlabel="training time, seconds", ylabel="test RMSE", title=title)
        axes.set_ylim(top=worst + 0.05)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.legend(frameon=False)


def machine() -> str:
    """The processor and the interpreter."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor()
    return f"{len(os.sched_getaffinity(0))} cores ({name}), Python {platform.python_version()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="ml-1m", help="a data set or a path (default: ml-1m)")
    parser.add_argument("--target", type=float, default=0.86, help="test RMSE to reach")
    parser.add_argument("--only", nargs="+", choices=list(PEERS), help="these peers alone")
    parser.add_argument("--with-spark", action="store_true", help="Spark too; needs Java")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--epochs", default="1,2,3,4,5,6,7,8,10,15,20", help="numbers to try")
    parser.add_argument("--folder", type=Path, default=RESULTS)
    given = parser.parse_args()
    chosen = given.only or [p for p in PEERS if p != "spark" or given.with_spark]
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    own = dict.fromkeys((OURS, BY_SGD), Path(sys.executable))
    pythons = own | {p: environment(p, folder) for p in chosen}
    modules = dict.fromkeys(own, "discreet") | {p: PEERS[p][1] for p in chosen}
    data = datasets.load_ratings(given.data)
    train, test = one_fold(data, 0, 10, seed=0)
    np.savez(
        folder / "split.npz",
        sizes=[len(data.users), len(data.items)],
        user=train.user, item=train.item, rating=train.rating.astype(np.float32),
        test_user=test.user, test_item=test.item, test_rating=test.rating.astype(np.float32),
    )  # fmt: skip
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in pythons}
    for number in range(1, given.rounds + 1):
        for name, python in pythons.items():
            print(f"round {number}: {name} ...", flush=True)
            found = run(name, python, folder, [int(c) for c in given.epochs.split(",")])
            found["import"] = import_seconds(python, modules[name])
            rounds[name].append(found)
    results = {name: least_of(found) for name, found in rounds.items()}
    title = f"{given.data}: {len(train):,} ratings, 20 factors, two threads"
    print(f"\n{title}; {machine()}\n")
    keep(f"peers-{given.data}", *table(results, given.target))
    (folder / f"{given.data}.json").write_text(json.dumps(results, indent=1))
    draw(results, given.target, title, folder / f"{given.data}.png")
    print(f"Written: {folder}/{given.data}.json and .png")


if __name__ == "__main__":
    main()
