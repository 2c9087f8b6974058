"""What never changes once it is there: made once, named by its content, kept by whoever asks."""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Callable

from fastapi import Request
from starlette.responses import Response

from discreet.errors import BusyError

FOR_EVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "public, no-cache"
"""It may be kept, but whether it is still the same is asked."""
MOST_WAITING = 4
"""Threads that may wait for an archive: it takes a second where a catalogue is large."""
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""The first that a zip can name: an archive's bytes follow from its content alone."""


def unchanged(request: Request, etag: str, keep: str) -> Response | None:
    """An answer without content, if whoever asks has this already."""
    known = request.headers.get("if-none-match", "")
    if f'"{etag}"' not in {tag.strip().removeprefix("W/") for tag in known.split(",")}:
        return None
    return Response(status_code=304, headers=headers(etag, keep))


def headers(etag: str, keep: str) -> dict[str, str]:
    """How long it may be kept, and how it is known again."""
    return {"ETag": f'"{etag}"', "Cache-Control": keep}


class Archives:
    """Releases as zips; of the latest few each is built once, and held."""

    def __init__(self, most: int = 2) -> None:
        self.most = most
        self._made: dict[str, tuple[int, bytes]] = {}
        self._building, self._waiting = threading.Lock(), threading.Semaphore(MOST_WAITING)

    def get(self, digest: str, number: int, files: Callable[[], dict[str, bytes]]) -> bytes:
        """The release with this digest: who asks while it is built waits, if they are few."""
        made = self._made.get(digest)
        if made is not None:
            return made[1]
        if not self._waiting.acquire(blocking=False):
            raise BusyError("releases are being packed for others: try again in a moment")
        try:
            with self._building:
                return self._build(digest, number, files)
        finally:
            self._waiting.release()

    def _build(self, digest: str, number: int, files: Callable[[], dict[str, bytes]]) -> bytes:
        made = self._made.get(digest) or (number, _archive(number, files()))
        self._made[digest] = made
        while len(self._made) > self.most:
            # Not the one that was asked for least: old ones would be asked for to drive it out.
            del self._made[min(self._made, key=lambda one: self._made[one][0])]
        return made[1]


def _archive(number: int, files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            info = zipfile.ZipInfo(f"release-{number}/{name}", _FIRST_DAY)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()
