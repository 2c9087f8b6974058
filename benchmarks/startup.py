"""What the first command and the first import cost, and compilation, once per installation.

python benchmarks/startup.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import seconds

FITS = {
    "PMF": "dc.PMF(sweeps=1)",
    "Tally": "dc.Tally()",
    "Chorus": "dc.Chorus(delta=1e-6)",
    "PDP-PMF": "dc.PDPPMF(k1=1, k2=1)",
}


def run(*command: str, cache: str | None = None) -> None:
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    subprocess.run(command, check=True, capture_output=True, env=environment)


def main() -> None:
    python, script = sys.executable, str(Path(sys.executable).with_name("discreet"))
    bare = min(seconds(lambda: run(python, "-c", "pass")) for _ in range(10))
    imported = min(seconds(lambda: run(python, "-c", "import discreet")) for _ in range(10))
    helped = min(seconds(lambda: run(script, "--help")) for _ in range(10))
    print(f"bare interpreter {bare:.3f} s; import discreet {imported - bare:.3f} s on top")
    print(f"discreet --help {helped:.3f} s in all")
    for name, scheme in FITS.items():
        code = (
            "import discreet as dc; from discreet.readers.club import cinema_club; "
            f"club = cinema_club(); spec = dc.PrivacySpec.groups(); "
            f"{scheme}.fit(club.ratings, spec, seed=0).recommend(n=10)"
        )
        with tempfile.TemporaryDirectory() as cache:
            first, second = (
                seconds(lambda c=code, k=cache: run(python, "-c", c, cache=k)) for _ in range(2)
            )
        print(
            f"first {name} fit and lists ever: {first:.1f} s, {first - second:.1f} of it "
            f"compilation; in the next process: {second:.1f} s"
        )


if __name__ == "__main__":
    main()
