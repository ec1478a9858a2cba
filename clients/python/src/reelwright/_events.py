"""Server-Sent Events (HTML standard, section 9.2)."""

from __future__ import annotations

from dataclasses import dataclass

# A job is far smaller.
EVENT_CHARACTERS_MAX = 4 * 1024 * 1024


@dataclass(frozen=True)
class ServerEvent:
    id: str
    event: str
    data: str


class EventParser:
    """Makes events of pieces of text."""

    def __init__(self) -> None:
        self._text = ""

    def feed(self, piece: str) -> list[ServerEvent]:
        """The events that a piece completes."""
        # Lines end at LF alone here: `str.splitlines` would also break JSON at U+2028.
        self._text += piece.replace("\r", "")
        if len(self._text) > EVENT_CHARACTERS_MAX:
            raise ValueError("an event is too large")
        *blocks, self._text = self._text.split("\n\n")
        events = [_event_of(block) for block in blocks]
        return [event for event in events if event is not None]


def _event_of(block: str) -> ServerEvent | None:
    """None for a comment, or a block without data."""
    fields = {"id": "", "event": "message"}
    data = []
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name in fields:
            fields[name] = value
    return ServerEvent(fields["id"], fields["event"], "\n".join(data)) if data else None
