"""The container, built where a builder runs, and started."""

import re
import shutil
import subprocess
import time
import tomllib
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.processes import free_port

ROOT = Path(__file__).parents[2]
BUILD_SECONDS = 1800


def builder() -> str:
    """A program that builds and runs containers, or a reason to skip."""
    for name in ("podman", "docker"):
        found = shutil.which(name)
        if found is None:
            continue
        asked = subprocess.run([found, "info"], capture_output=True, timeout=60, check=False)
        if asked.returncode == 0:
            return found
    pytest.skip("no container builder runs here: start podman or docker")


def test_the_container_gets_all_that_the_package_is_made_of() -> None:
    """What the build's own settings name must have been copied before."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]
    needed = ["pyproject.toml", "hatch_build.py", "README.md", "LICENSE"]
    needed += settings["build"]["targets"]["wheel"]["packages"]
    needed += settings["build"]["targets"]["wheel"]["force-include"]
    copied = [
        source
        for line in (ROOT / "deploy" / "Containerfile").read_text().splitlines()
        if line.startswith("COPY ")
        for source in line.split()[1:-1]
    ]
    for path in needed:
        assert any(path == one or path.startswith(f"{one}/") for one in copied), path


def test_the_container_is_built_and_serves() -> None:
    program, tag = builder(), "discreet-test"
    [base] = re.findall(r"^FROM (\S+)$", (ROOT / "deploy/Containerfile").read_text(), re.MULTILINE)
    if subprocess.run([program, "pull", base], capture_output=True, check=False).returncode:
        pytest.skip(f"the base image cannot be fetched here: {base}")
    words = ["build", "--file", "deploy/Containerfile", "--tag", tag, "."]
    built = subprocess.run(
        [program, *words], cwd=ROOT, capture_output=True, text=True, timeout=BUILD_SECONDS,
        check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr[-2000:]
    port = free_port()
    run = [program, "run", "--rm", "--detach", "--publish", f"127.0.0.1:{port}:8000", tag]
    started = subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()
    try:
        end = time.monotonic() + 120
        while True:
            try:
                answer = httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5)
                break
            except httpx.TransportError:
                assert time.monotonic() < end
                time.sleep(0.5)
        assert answer.json() == {"status": "ok", "release": 0}
        made = [program, "exec", started, "discreet", "operate", "token", "operator", "--json"]
        shown = subprocess.run(made, capture_output=True, text=True, check=True).stdout
        assert "discreet-operator-" in shown
    finally:
        subprocess.run([program, "stop", started], capture_output=True, check=False)
        subprocess.run([program, "rmi", "--force", tag], capture_output=True, check=False)
