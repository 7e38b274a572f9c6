"""Renders reports: jobs of the table `report_jobs`, which a service in Node has queued.

    DATABASE_URL=postgres://me@localhost/mine python3 reports.py [--drain]
"""

import json
import os
import sys

from svc_jobs import Consumer, Database

database = Database(os.environ["DATABASE_URL"])

# Inserts the report, and queues the mail about it for the worker in Node, in one transaction. A job can run twice, so
# its id is the key of the report and part of the id of the mail.
SAVE = """
insert into reports (id, title, body) values (:'id', :'title', :'body') on conflict do nothing;
insert into mail_jobs (id, task, payload, request_id, tenant_id, trace)
values (:'id' || '/mail', 'mail.send', :'mail'::jsonb, :'request_id', :'tenant',
  nullif(:'trace', '{}')::jsonb)
on conflict (id) do nothing;
"""


def render(payload, job):
    """Writes the report of a tenant and queues the mail about it."""
    if job.tenant_id is None:
        raise ValueError("the job has no tenant")
    title, lines = payload["title"], payload["lines"]
    if not lines:
        raise ValueError(f"nothing to report in {title}")
    headers = job.headers
    request_id = headers.pop("X-Request-ID")
    database.rows(
        SAVE,
        tenant=job.tenant_id,
        id=job.id,
        title=title,
        body="\n".join(lines),
        mail={"to": payload["to"], "about": title},
        request_id=request_id,
        trace=headers,
    )


if __name__ == "__main__":
    consumer = Consumer(database, "report_jobs", {"report.render": render}, service="reports")
    consumer.run(drain="--drain" in sys.argv)
