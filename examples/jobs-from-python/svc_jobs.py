"""Drains a table of jobs by the documented contract, with only the standard library and `psql`.

A consumer claims every row of its table, so it needs its own table. Jobs run one after the other, and each job ends
before its lease expires. To run several jobs at a time, start several processes.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.parse

# Seconds between a failed statement and the next attempt.
RETRY_SECONDS = 1

TRACEPARENT = r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"

CLAIM = """
with pending as materialized (
  select id, available_at from :"table"
  where status = 'pending' and available_at <= statement_timestamp()
  order by available_at limit 1 for update skip locked
), expired as materialized (
  select id, available_at from :"table"
  where status = 'running' and locked_until < statement_timestamp() and attempts < max_attempts
  order by available_at limit 1 for update skip locked
), spent as materialized (
  select id from :"table"
  where status = 'running' and locked_until < statement_timestamp() and attempts >= max_attempts
  limit 100 for update skip locked
), buried as (
  update :"table"
  set status = 'dead', locked_until = null, last_error = 'lease expired on the last attempt'
  where id = any(array(select id from spent))
), claimed as (
  update :"table" as job set status = 'running', attempts = least(job.attempts, 2147483646) + 1,
    locked_until = statement_timestamp() + :'seconds'::float8 * interval '1 second'
  where id = any(array(
    select id from (select * from pending union all select * from expired) as ready
    order by available_at limit 1
  ))
  returning job.*
)
select jsonb_build_object('id', id, 'task', task, 'payload', payload::text, 'attempts', attempts,
  'max_attempts', max_attempts, 'request_id', request_id, 'tenant_id', tenant_id,
  'traceparent', trace ->> 'traceparent', 'tracestate', trace ->> 'tracestate',
  'locked_until', to_char(locked_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) from claimed;
"""

# These three values identify a lease, because the next claim of the job changes them.
HELD = """id = :'id' and status = 'running' and attempts = :'attempts'::int
  and locked_until = :'lease'::timestamptz"""

ACK = f"""delete from :"table" where {HELD} returning jsonb_build_object('status', 'done');"""

FAIL = f"""
update :"table" set locked_until = null, last_error = :'error',
  status = case when :'bury'::boolean or attempts >= max_attempts then 'dead' else 'pending' end,
  available_at = case when :'bury'::boolean or attempts >= max_attempts then available_at
    else statement_timestamp()
      + least(2 * power(2, greatest(least(attempts, 10), 1) - 1), 300) * interval '1 second' end
where {HELD} returning jsonb_build_object('status', status);
"""

RELEASE = f"""
update :"table" set status = 'pending', locked_until = null, available_at = statement_timestamp(),
  attempts = greatest(attempts - 1, 0)
where {HELD} returning jsonb_build_object('status', 'released');
"""


class JobError(Exception):
    """The error of a job that failed although its handler raised no error."""


class DatabaseError(Exception):
    """A statement that `psql` could not run."""


class Stopped(BaseException):
    """The consumer stops. Not an Exception, so that `except Exception` in a handler does not catch it."""


class TimedOut(BaseException):
    """The job has taken too long. Not an Exception, for the same reason as `Stopped`."""


class Database:
    """Runs statements with `psql`, in one process per call."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.environment = dict(
            os.environ,
            PGCLIENTENCODING="UTF8",
            PGCONNECT_TIMEOUT="5",
            PGOPTIONS="-c statement_timeout=10s",
        )
        # Remove the password from the URL, because every process on the machine can read a command line.
        if parts.password is not None:
            self.environment["PGPASSWORD"] = urllib.parse.unquote(parts.password)
            user, _, host = parts.netloc.rpartition("@")
            parts = parts._replace(netloc=f"{user.partition(':')[0]}@{host}")
        self.url = parts.geturl()

    def rows(self, statements, tenant=None, **values):
        """Runs statements in one transaction and returns the rows, each of which is one JSON value.

        A statement refers to a value as `:'name'` and to an identifier as `:"name"`. `psql` quotes both, so that their
        text is never executed as SQL. With a tenant, row security limits the statements to the rows of that tenant.
        """
        begin = "begin;\n"
        if tenant is not None:
            begin += "select set_config('svc.tenant', :'tenant', true) \\gset\n"
            values["tenant"] = tenant
        command = ["psql", "-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1"]
        for name, value in values.items():
            text = value if isinstance(value, str) else json.dumps(value)
            command += ["-v", f"{name}={text}".encode()]
        try:
            ran = subprocess.run(
                [*command, self.url],
                input=f"{begin}{statements}\ncommit;\n".encode(),
                capture_output=True,
                env=self.environment,
                timeout=30,
                # Ctrl-C must reach only the consumer, which lets a statement finish.
                start_new_session=True,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise DatabaseError(f"psql: {type(error).__name__}") from error
        if ran.returncode != 0:
            said = ran.stderr.decode("utf-8", "replace").strip()
            raise DatabaseError(said or f"psql ended with {ran.returncode}")
        return [json.loads(line) for line in ran.stdout.decode().split("\n") if line]


class Job:
    """A claimed job.

    It has `id`, `task`, `attempts`, `max_attempts`, `request_id`, `tenant_id`, `traceparent` and `tracestate`.
    """

    def __init__(self, row):
        self.__dict__.update(row)
        if self.traceparent is None or re.fullmatch(TRACEPARENT, self.traceparent) is None:
            self.traceparent = self.tracestate = None
        self.trace_id = self.traceparent and self.traceparent[3:35]

    @property
    def headers(self):
        """The headers of a call on behalf of this job."""
        known = {"traceparent": self.traceparent, "tracestate": self.tracestate}
        return {"X-Request-ID": self.request_id or self.id, **present(known)}

    @property
    def fields(self):
        """The fields of every log line about this job."""
        fields = {
            "job_id": self.id,
            "task": self.task,
            "attempts": self.attempts,
            "request_id": self.request_id,
            "trace_id": self.trace_id,
            "tenant_id": self.tenant_id,
        }
        return present(fields)


class Consumer:
    """Claims jobs of a table and passes each to the handler of its task, a function of payload and job."""

    def __init__(self, database, table, handlers, service="python", visibility_seconds=300, poll_seconds=1):
        self.database = database
        self.table = table
        self.handlers = handlers
        self.service = service
        self.visibility_seconds = visibility_seconds
        self.poll_seconds = poll_seconds
        self.stopping = False
        self.interrupts = False

    def run(self, drain=False):
        """Works until SIGTERM or SIGINT; with `drain` until no job is available."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGALRM, lambda *_: self._interrupt(TimedOut))
        while not self.stopping:
            claimed_at = time.monotonic()
            try:
                rows = self._send(CLAIM, seconds=self.visibility_seconds)
            except DatabaseError as error:
                if drain:
                    raise
                self.log("error", "the database did not answer", error=str(error))
                self._pause(RETRY_SECONDS)
                continue
            if rows:
                self._settle(Job(rows[0]), claimed_at)
            elif drain:
                return
            else:
                self._pause(self.poll_seconds)

    def log(self, level, message, **fields):
        """Writes one JSON object on one line of standard output."""
        line = {"service": self.service, "level": level, "message": message, **fields}
        # Write only once, because a signal may stop a handler between two writes.
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    def _settle(self, job, claimed_at):
        statement, values = self._attempt(job)
        lease = {"id": job.id, "attempts": job.attempts, "lease": job.locked_until}
        # Retrying is safe: after the lease another consumer may hold the job, and the statement changes nothing.
        while True:
            try:
                rows = self._send(statement, **lease, **values)
                break
            except DatabaseError as error:
                self.log("error", "the result of a job could not be recorded", **job.fields, error=str(error))
                if self.stopping or time.monotonic() - claimed_at > self.visibility_seconds:
                    return
                self._pause(RETRY_SECONDS)
        status = rows[0]["status"] if rows else "lost"
        level = {"done": "info", "released": "info", "pending": "warning"}.get(status, "error")
        error = {"error": values["error"]} if "error" in values else {}
        self.log(level, f"job {status}", **job.fields, **error)

    def _attempt(self, job):
        handler = self.handlers.get(job.task)
        if handler is None:
            text = error_text(JobError(f"there is no handler for the task {job.task}"))
            return FAIL, {"error": text, "bury": True}
        seconds = 0.8 * self.visibility_seconds
        try:
            with self._interruptible(seconds):
                handler(json.loads(job.payload), job)
        except Stopped:
            return RELEASE, {}
        except TimedOut:
            late = JobError(f"the job took longer than {round(seconds * 1000)} ms")
            return FAIL, {"error": error_text(late), "bury": False}
        except BaseException as error:  # Includes sys.exit() in a handler.
            return FAIL, {"error": error_text(error), "bury": False}
        return ACK, {}

    def _send(self, statement, **values):
        return self.database.rows(statement, table=self.table, **values)

    def _pause(self, seconds):
        with contextlib.suppress(Stopped), self._interruptible():
            time.sleep(seconds)

    @contextlib.contextmanager
    def _interruptible(self, seconds=0):
        """Lets signals end the block, but not a running statement."""
        self.interrupts = True
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            if self.stopping:
                raise Stopped
            yield
        finally:
            self.interrupts = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _on_stop(self, *_):
        self.stopping = True
        self._interrupt(Stopped)

    def _interrupt(self, reason):
        if self.interrupts:
            self.interrupts = False
            raise reason


def error_text(error):
    """Returns the text for `last_error`: name and message of an error and of its cause, cleaned and truncated."""
    text = _described(error)
    if error.__cause__ is not None:
        text += f" (caused by {_described(error.__cause__)})"
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text[:4000])
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", text)
    text = re.sub(r"//[^/?#\s]*@", "//***@", text)
    return re.sub("[\ud800-\udfff]", "\ufffd", text[:2000])


def present(fields):
    """Returns the fields whose values are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def _described(error):
    name = type(error).__name__
    try:
        return f"{name}: {error}" if str(error) else name
    except Exception:
        return name
