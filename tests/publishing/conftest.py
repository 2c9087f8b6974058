from pathlib import Path

import pytest

from discreet.publishing.file_ledger import FileLedger


@pytest.fixture
def ledger(tmp_path: Path) -> FileLedger:
    return FileLedger(tmp_path / "ledger.db")
