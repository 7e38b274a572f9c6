import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on job queue, events, outbox, inbox and scheduler. */
export const work: Mutants = {
  "JOB-1": {
    file: "packages/job-table/src/options.ts",
    find: 'export const DEFAULT_TABLE = "svc_jobs";',
    replace: 'export const DEFAULT_TABLE = "jobs";',
  },
  "JOB-2": {
    file: "packages/job-table/src/schema.ts",
    find: "  attempts integer not null default 0,",
    replace: "  attempts bigint not null default 0,",
  },
  "JOB-3": {
    file: "packages/job-table/src/sql/enqueue.ts",
    find: "  on conflict (id) do nothing returning id, ${SESSION_COLUMN}`;",
    replace: "  on conflict (id) do update set task = excluded.task returning id, ${SESSION_COLUMN}`;",
  },
  "JOB-4": {
    file: "packages/job-table/src/sql/claim.ts",
    find: "available_at <= ${NOW}\n  order by available_at limit $1::int for update skip locked\n), _svc_expired",
    replace:
      "available_at <= ${NOW}\n  order by available_at desc limit $1::int for update skip locked\n), _svc_expired",
  },
  "JOB-5": {
    file: "packages/job-table/src/sql/claimed-row.ts",
    find: "attempts = least(job.attempts, ${MAX_COUNT}) + 1, locked_until",
    replace: "attempts = least(job.attempts, ${MAX_COUNT}), locked_until",
  },
  "JOB-6": {
    file: "packages/job-table/src/sql/lease-fence.ts",
    find: "and job.attempts = lease.attempts and job.locked_until = lease.locked_until`;",
    replace: "and job.attempts >= lease.attempts and job.locked_until >= lease.locked_until`;",
  },
  "JOB-7": {
    file: "packages/job-table/src/sql/ack.ts",
    find: "return `delete from ${table} as job\n    using unnest(",
    replace: "return `update ${table} as job set status = 'pending' from unnest(",
  },
  "JOB-8": {
    file: "packages/job-table/src/sql/fail.ts",
    find: "least(2 * power(2, greatest(least(job.attempts, 10), 1) - 1), 300) * interval '1 second' end",
    replace: "least(2 * power(2, greatest(least(job.attempts, 10), 1) - 1), 600) * interval '1 second' end",
  },
  "JOB-9": {
    file: "packages/job-table/src/sql/fail.ts",
    find: 'const dead = "lease.no_retry or job.attempts >= job.max_attempts";',
    replace: 'const dead = "lease.no_retry or job.attempts > job.max_attempts";',
  },
  "JOB-10": {
    file: "packages/job-table/src/worker/running-jobs.ts",
    find: "error: fault, dead: true",
    replace: "error: fault, dead: false",
  },
  "JOB-11": {
    file: "packages/job-table/src/sql/release.ts",
    find: "  attempts = greatest(job.attempts - 1, 0)\nfrom",
    replace: "  attempts = job.attempts\nfrom",
  },
  "JOB-12": {
    file: "packages/job-table/src/sql/operator.ts",
    find: "set status = 'pending', attempts = 0, locked_until",
    replace: "set status = 'pending', locked_until",
  },
  "JOB-13": {
    file: "packages/job-table/src/error-text.ts",
    find: "export const MAX_ERROR_LENGTH = 2000;",
    replace: "export const MAX_ERROR_LENGTH = 2001;",
  },
  "JOB-14": {
    file: "packages/job-table/src/options.ts",
    find: "visibilityTimeoutSeconds: withDefault(number({ min: 1, max: 86_400 }), 300),",
    replace: "visibilityTimeoutSeconds: withDefault(number({ min: 1, max: 86_400 }), 600),",
  },
  "JOB-15": {
    file: "packages/job-table/src/new-job.ts",
    find: "const DEFAULT_MAX_ATTEMPTS = 3;",
    replace: "const DEFAULT_MAX_ATTEMPTS = 5;",
  },
  "JOB-16": {
    file: "packages/job-table/src/sql/claim.ts",
    find: "where status = 'running' and locked_until < ${NOW} and attempts < max_attempts\n",
    replace: "where false\n",
  },
  "JOB-17": {
    file: "packages/job-table/src/worker/running-jobs.ts",
    find: "    tenantId,\n    log: logger,",
    replace: "    log: logger,",
  },
  "JOB-18": {
    file: "packages/job-table/src/worker/report.ts",
    find: 'if (requestId !== undefined) fields["request_id"] = requestId;',
    replace: "",
  },
  "JOB-19": [
    {
      file: "packages/job-table/src/worker/running-jobs.ts",
      find: "    }, graceMs).unref();",
      replace: "    }, 100 * visibilityMs).unref();",
    },
    {
      file: "packages/job-table/src/worker/running-jobs.ts",
      find: "closed || abandoned >= concurrency || completions.size",
      replace: "closed || completions.size",
    },
  ],
  "JOB-20": {
    file: "packages/job-table/src/worker/running-jobs.ts",
    find: "    if (handler === undefined || fault !== undefined) {\n",
    replace:
      "    if (handler === undefined) return release(job, claimedAt);\n    if (fault !== undefined) {\n",
  },
  "JOB-21": {
    file: "packages/job-table/src/sql/lease-fence.ts",
    find: "and job.attempts = lease.attempts and job.locked_until = lease.locked_until`;",
    replace: "and job.attempts = job.attempts + 0 * lease.attempts`;",
  },
  "JOB-22": {
    file: "packages/job-table/src/sql/claimed-row.ts",
    find: 'export const EXHAUSTED = "lease expired on the last attempt";',
    replace: 'export const EXHAUSTED = "lease expired";',
  },
  "JOB-23": {
    file: "packages/job-table/src/worker/running-jobs.ts",
    find: "const all = concurrency + prefetch;",
    replace: "const all = concurrency + prefetch + 1;",
  },
  "JOB-24": {
    file: "packages/job-table/src/schema.ts",
    find: "on ${sql} (available_at) where status = 'pending'`",
    replace: "on ${sql} (available_at)`",
  },
  "JOB-25": {
    file: "packages/job-table/src/sql/claim.ts",
    find: "    order by available_at limit $1::int\n  ) as due",
    replace: "    order by available_at desc limit $1::int\n  ) as due",
  },
  "JOB-26": {
    file: "packages/job-table/src/worker/options.ts",
    find: "concurrency: withDefault(integer({ min: 1, max: 1000 }), 4),",
    replace: "concurrency: withDefault(integer({ min: 1, max: 1000 }), 8),",
  },
  "JOB-27": {
    file: "packages/job-table/src/new-job.ts",
    find: "tenantId: tenantOf(job.tenantId, context?.tenantId),",
    replace: "tenantId: tenantOf(job.tenantId, undefined),",
  },
  "JOB-28": {
    file: "packages/job-table/src/schema.ts",
    find: 'const WHOLE = ["integer", "bigint", "smallint"];',
    replace: 'const WHOLE = ["integer"];',
  },
  "JOB-29": {
    file: "packages/sql/src/ensure-schema.ts",
    find: 'if (await isComplete(asked, schema)) return "present";',
    replace: "",
  },
  "JOB-30": {
    file: "packages/job-table/src/schema.ts",
    find: 'return [{ name: migrationName("0001", table), statements: tableStatements(table) }];',
    replace:
      'return [{ name: migrationName("0001", table), statements: tableStatements(table).slice(0, 1) }];',
  },
  "JOB-31": {
    file: "packages/job-table/src/sql/operator.ts",
    find: "status = 'dead' order by created_at desc, id limit",
    replace: "status = 'dead' order by created_at, id limit",
  },
  "JOB-32": {
    file: "packages/job-table/src/plugin-parts.ts",
    find: 'if (env === "prod" || path === "" ||',
    replace: 'if (path === "" ||',
  },
  "EVT-1": {
    file: "packages/events/src/envelope.ts",
    find: "JSON.stringify({ id, type, source, occurred_at, request_id, tenant_id, trace, key })",
    replace: "JSON.stringify({ id, type, source, occurred_at, request_id, tenant_id, trace })",
  },
  "EVT-2": {
    file: "packages/events/src/events.ts",
    find: "if (jobs.length > 0) await table?.enqueueMany(jobs, { tx });",
    replace: "if (jobs.length > 0 && bus === undefined) await table?.enqueueMany(jobs, { tx });",
  },
  "EVT-3": {
    file: "packages/events/src/subscribers.ts",
    find: "payload: { topic, event },",
    replace: "payload: { event },",
  },
  "EVT-4": {
    file: "packages/events/src/subscribers.ts",
    find: "`${eventId}/${task}`",
    replace: "`${eventId}/${task}/${Math.random()}`",
  },
  "EVT-5": {
    file: "packages/events/src/subscribers.ts",
    find: "const ID_LENGTH = 32;",
    replace: "const ID_LENGTH = 40;",
  },
  "EVT-6": {
    file: "packages/events/src/events.ts",
    find: "if (bus === undefined && !subscriptions.has(one.envelope.type)) {",
    replace: "if (false as boolean) {",
  },
  "EVT-7": {
    file: "packages/events/src/redis/redis-streams-bus.ts",
    find: "await commands.send((client) => runScript(client, PUBLISH, keys, [...settings, ...args]));",
    replace: "",
  },
  "EVT-8": {
    file: "packages/events/src/events.ts",
    find: "return topicPrefix + type;",
    replace: "return type;",
  },
  "EVT-9": {
    file: "packages/events/src/envelope.ts",
    find: 'if (given === null) return "";\n  const tenant',
    replace: 'if (given === null) return "-";\n  const tenant',
  },
  "EVT-10": {
    file: "packages/events/src/events.ts",
    find: "subscriberJobs(subscriptions.get(envelope.type) ?? [],",
    replace: "subscriberJobs([...subscriptions.values()].flat(),",
  },
  "OUT-1": {
    file: "packages/events/src/relay/relay.ts",
    find: "const settled = await settle(delivery.sent);",
    replace: "const settled = await settle(outgoing);",
  },
  "OUT-2": {
    file: "packages/events/src/inbox.ts",
    find: "if (rows.length === 0) return { done: false };",
    replace: "if (rows.length === 0) return { done: true, value: await fn() };",
  },
  "OUT-3": {
    file: "packages/events/src/inbox.ts",
    find: "  processed_at timestamptz not null default now(),",
    replace: "  processed_at timestamptz default now(),",
  },
  "OUT-4": {
    file: "packages/events/src/outbox/schema.ts",
    find: "  last_error text\n)`",
    replace: "  error text\n)`",
  },
  "OUT-5": {
    file: "packages/events/src/outbox/sql.ts",
    find: "  order by message_key, created_at, id limit 1)\n  union all",
    replace: "  order by message_key, created_at desc, id limit 1)\n  union all",
  },
  "OUT-6": {
    file: "packages/events/src/outbox/sql.ts",
    find: "attempts = row.attempts + 1, available_at = ${NOW} + $2::float8 * interval '1 second'",
    replace: "attempts = row.attempts + 1, available_at = ${NOW} + 0 * $2::float8 * interval '1 second'",
  },
  "SCH-1": {
    file: "packages/scheduler/src/tick-store.ts",
    find: "      const tick = new Date(ms).toISOString();\n      const job",
    replace:
      "      const tick = new Date(ms + Math.floor(Math.random() * 900)).toISOString();\n      const job",
  },
  "SCH-2": {
    file: "packages/scheduler/src/times.ts",
    find: "(Math.floor(ms / everyMs) + 1) * everyMs",
    replace: "ms + everyMs",
  },
  "SCH-3": {
    file: "packages/scheduler/src/cron/fields.ts",
    find: "fields.length !== 5 ||",
    replace: "fields.length < 5 ||",
  },
  "SCH-4": {
    file: "packages/scheduler/src/tick-store.ts",
    find: '{ from: "claimed", first: 4 }',
    replace: '{ from: "(select 1) as always", first: 4 }',
  },
  "SCH-5": {
    file: "packages/scheduler/src/pass.ts",
    find: "if (ms === undefined || catchUp || nowMs - ms <= MISSED_AFTER_MS) return ms;",
    replace: "return ms;",
  },
  "JOB-33": {
    file: "packages/sql/src/exact-json.ts",
    find: "if (!LONG_NUMBER.test(text)) return JSON.parse(text);",
    replace: 'if (text !== "") return JSON.parse(text);',
    test: "packages/job-table/test/payload.test.ts",
  },
  "JOB-34": [
    {
      file: "packages/job-table/src/sql/recover.ts",
      find: "update ${table} as job set status = 'pending', locked_until = null\n",
      replace: "update ${table} as job set status = 'pending', locked_until = null, available_at = ${NOW}\n",
    },
    {
      file: "packages/job-table/src/worker/claimer.ts",
      find: "sweepAt = isFull ? -Infinity : performance.now() + pauseAfter(swept, pauseMs);",
      replace: "sweepAt = performance.now() + sweepMs;",
    },
  ],
  "EVT-11": {
    file: "packages/events/src/read-envelope.ts",
    find: 'return parseExactJson(text, "data", "data");',
    replace: "return JSON.parse(text);",
  },
};
