"""A queue of events on disk. Receivers read it independently, and an event stays until all of them have received it.

The queue is a SQLite database, so the events of a killed program are still there when it starts again. It has a limit:
if it is full, the oldest events are dropped, and the next event reports how many were."""

import contextlib
import json
import os
import sqlite3
import threading

TABLES = """
CREATE TABLE IF NOT EXISTS events (number INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS receivers (
  name TEXT PRIMARY KEY, received INTEGER NOT NULL, tried INTEGER NOT NULL, dropped INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sources (name TEXT PRIMARY KEY, events INTEGER NOT NULL);
"""


class QueueProblem(Exception):
    """The queue cannot be used. The message gives the reason."""


class Queue:
    """Events by number, from 1. `receivers`: names of the receivers of this run. Safe for use by several threads."""

    def __init__(self, folder, receivers, limit):
        self.path, self.limit = os.path.join(folder, "events.sqlite"), limit
        self.changed = threading.Condition()  # guards the database, and is notified of new events
        try:
            os.makedirs(folder, exist_ok=True)
            # The exclusive mode is a lock: it refuses a second program.
            self.base = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None, timeout=1)
            for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL"):
                self.base.execute(f"PRAGMA {pragma}")
            self.base.executescript(TABLES)
            with self.transaction():
                for name in receivers:
                    # A new receiver gets the events from now on.
                    self.base.execute("INSERT OR IGNORE INTO receivers SELECT ?, seq, seq, 0 FROM (SELECT"
                                      " coalesce(max(seq), 0) AS seq FROM sqlite_sequence WHERE name = 'events')", (name,))
        except (OSError, sqlite3.Error) as problem:
            reason = ("another program uses it" if "locked" in str(problem) else
                      getattr(problem, "strerror", None) or problem)
            raise QueueProblem(f"the queue {self.path} cannot be opened: {reason}") from problem
        self.receivers = tuple(receivers)

    @contextlib.contextmanager
    def transaction(self):
        """Raises QueueProblem if the disk is full, for example. Then nothing has changed."""
        with self.changed:
            try:
                self.base.execute("BEGIN IMMEDIATE")
                yield
                self.base.execute("COMMIT")
            except BaseException as problem:
                if self.base.in_transaction:  # SQLite ends it itself after some errors
                    self.base.execute("ROLLBACK")
                if isinstance(problem, sqlite3.Error):
                    raise QueueProblem(f"the queue {self.path} cannot be written: {problem}") from problem
                raise
            self.changed.notify_all()

    def value(self, query, *arguments):
        row = self.base.execute(query, arguments).fetchone()
        return row[0] if row else 0

    def recorded(self, source):
        """How many events of a source (a text that identifies a file and its rules) have been added."""
        with self.changed:
            return self.value("SELECT events FROM sources WHERE name = ?", source)

    def forget(self, source):
        """Called at the end of a source: its next run adds all events again."""
        with self.transaction():
            self.base.execute("DELETE FROM sources WHERE name = ?", (source,))

    def add(self, events, source=None, lost=0):
        """Adds events (dictionaries). Returns how many old events were dropped because the queue is full. `source`
        counts them, see recorded(). `lost`: number of events that could not be added since the last call."""
        with self.transaction():
            self.base.execute("UPDATE receivers SET dropped = dropped + ?", (lost,))
            self.base.executemany("INSERT INTO events (event) VALUES (?)",
                                  [(json.dumps(event, separators=(",", ":")),) for event in events])
            if source:
                self.base.execute("INSERT INTO sources VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET events = events + ?",
                                  (source, len(events) + lost, len(events) + lost))
            return self.drop_oldest()

    def drop_oldest(self):
        surplus = self.value("SELECT count(*) FROM events") - self.limit
        if surplus <= 0:
            return 0
        last = self.value("SELECT number FROM events ORDER BY number LIMIT 1 OFFSET ?", surplus - 1)
        # Only events that a receiver has not received are lost for it.
        self.base.execute(
            "UPDATE receivers SET dropped = dropped + (SELECT count(*) FROM events WHERE number <= ?1 AND number >"
            " received), received = max(received, ?1), tried = max(tried, ?1)", (last,))
        self.base.execute("DELETE FROM events WHERE number <= ?", (last,))
        return surplus

    def waiting(self, receiver, most):
        """Returns the next events for a receiver, as dictionaries with their `number`, up to `most`. `again` marks an
        event that may have been received already. `dropped` counts older events that were dropped."""
        with self.transaction():
            row = self.base.execute("SELECT received, tried, dropped FROM receivers WHERE name = ?", (receiver,)).fetchone()
            received, tried, dropped = row
            rows = self.base.execute("SELECT number, event FROM events WHERE number > ? ORDER BY number LIMIT ?",
                                     (received, most)).fetchall()
            events = [json.loads(event) | {"number": number} | ({"again": True} if number <= tried else {})
                      for number, event in rows]
            if events:
                if dropped:
                    events[0]["dropped"] = dropped
                self.base.execute("UPDATE receivers SET tried = max(tried, ?) WHERE name = ?", (rows[-1][0], receiver))
            return events

    def wait(self, receiver, seconds):
        """Waits until there are events for the receiver. Returns whether there are."""
        def has_events():
            return self.value("SELECT count(*) FROM events WHERE number > (SELECT received FROM receivers WHERE name = ?)",
                              receiver) > 0
        with self.changed:
            return self.changed.wait_for(has_events, seconds)

    def confirm(self, receiver, number):
        """The receiver has all events up to this number."""
        with self.transaction():
            self.base.execute("UPDATE receivers SET received = max(received, ?), dropped = 0 WHERE name = ?",
                              (number, receiver))
            names = ",".join("?" * len(self.receivers))
            # Receivers of earlier runs that are not used now do not keep events.
            self.base.execute(f"DELETE FROM events WHERE number <= (SELECT min(received) FROM receivers WHERE name IN"
                              f" ({names}))", self.receivers)

    def left(self):
        """The number of events that the slowest receiver of this run has not received."""
        with self.changed:
            names = ",".join("?" * len(self.receivers))
            return self.value(f"SELECT count(*) FROM events WHERE number > (SELECT min(received) FROM receivers WHERE"
                              f" name IN ({names}))", *self.receivers)

    def close(self):
        with self.changed:
            self.base.close()
