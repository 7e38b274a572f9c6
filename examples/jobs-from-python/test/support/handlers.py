"""Handlers of the tests, on the table that the environment names."""

import contextlib
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from svc_jobs import Consumer, Database  # noqa: E402

database = Database(os.environ["DATABASE_URL"])
table = os.environ["JOBS"]


class Error(Exception):
    """An error with the name of JavaScript's."""


def fail(payload, job):
    cause = payload.get("cause")
    raise Error(payload["message"]) from (cause and Error(cause))


def keep(payload, job):
    statement = """insert into kept (id, text, tenant, headers)
      values (:'id', :'text', current_setting('svc.tenant'), :'headers'::jsonb);"""
    database.rows(statement, tenant=job.tenant_id, id=job.id, text=payload["text"], headers=job.headers)


def wait(payload, job):
    consumer.log("info", "waiting")
    time.sleep(60)


class Stopping:
    """Standard output that signals the consumer to stop at every write."""

    def write(self, text):
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
        signal.raise_signal(signal.SIGTERM)

    def flush(self):
        sys.__stdout__.flush()


def say(payload, job):
    with contextlib.redirect_stdout(Stopping()):
        consumer.log("info", "stopping")


def lose(payload, job):
    statement = """update :"table" set attempts = attempts + 1,
      locked_until = locked_until + interval '1 second' where id = :'id';"""
    database.rows(statement, table=table, id=job.id)


consumer = Consumer(
    database,
    table,
    {"fail": fail, "keep": keep, "wait": wait, "say": say, "lose": lose},
    visibility_seconds=float(os.environ.get("VISIBILITY", "300")),
    poll_seconds=0.05,
)
consumer.run(drain="--drain" in sys.argv)
