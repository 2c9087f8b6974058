"""How much memory something took at most, beyond what the process held before; on Linux."""

from __future__ import annotations

import re
from pathlib import Path

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Memory:
    """Made before the work; asked after it."""

    def __init__(self) -> None:
        try:
            _RESET.write_text("5")  # the peak begins anew
            self.before = _kilobytes("VmRSS")
        except OSError:
            self.before = None

    def megabytes(self) -> float | None:
        """The peak since, above what there was; None where nobody keeps count of that."""
        peak = None if self.before is None else _kilobytes("VmHWM")
        return None if peak is None else round((peak - (self.before or 0)) / 1024, 1)


def _kilobytes(name: str) -> int | None:
    found = re.search(rf"^{name}:\s+(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
    return int(found[1]) if found else None
