import { createHash } from "node:crypto";
import { type Database, original, qualified, type Queryable } from "@svc/sql";
import { checkMembers, instantOf, type Moment, tenantOf } from "./arguments.ts";
import { asTenant, command, inTransaction } from "./connection.ts";
import { explained, refused, RollupError } from "./errors.ts";
import { literal } from "./literal.ts";
import type { Definition } from "./definition.ts";
import type { Refreshed, Refresher } from "./refresh.ts";
import type { Bucket } from "./sql/lock.ts";
import { ownName, sharedTables } from "./sql/pieces.ts";

/** What queues jobs: a table of `@svc/job-table`, or something with its `enqueue`. */
export interface RefreshQueue {
  enqueue(
    job: {
      readonly task: string;
      readonly payload: RefreshPayload;
      readonly id?: string | undefined;
      readonly tenantId: string | null;
    },
    options?: { readonly tx?: Queryable | undefined },
  ): Promise<{ readonly id: string; readonly enqueued: boolean }>;
  /** Makes dead jobs pending; answers the ids of those that were dead. Default: a dead job hides later changes of its bucket. */
  retryDead?(
    ids: readonly string[],
    options?: { readonly tx?: Queryable | undefined },
  ): Promise<readonly string[]>;
}

/** What a job carries. */
export interface RefreshPayload {
  readonly tenant: string | null;
  /** ISO 8601 in UTC. */
  readonly at: string;
}

/** What a handler is told beside its payload. */
export interface RefreshJob {
  readonly attempts: number;
  readonly maxAttempts: number;
}

/** Does the work of a job. */
export type RefreshHandler = (payload: unknown, job: RefreshJob) => Promise<Refreshed>;

/** What {@link Rollup.enqueueRefresh} takes beside the moment. */
export interface EnqueueOptions {
  /** The READ COMMITTED transaction that writes the rows. Default: none; the job is then one more, whatever is pending. */
  readonly tx?: Queryable | undefined;
}

/** The job of a bucket is known by how often the bucket was refreshed by jobs. */
export interface RefreshJobs {
  enqueue(
    jobs: RefreshQueue,
    moment: Moment,
    options?: EnqueueOptions,
  ): Promise<{ id: string; enqueued: boolean }>;
  enqueueMany(
    jobs: RefreshQueue,
    moments: readonly Moment[],
    options: Required<EnqueueOptions>,
  ): Promise<{ id: string; enqueued: boolean }[]>;
  handle(db: Database, payload: unknown, job: RefreshJob): Promise<Refreshed>;
}

export function taskOf({ name }: Definition): string {
  return `rollup.refresh.${name}`;
}

/**
 * One pending job per bucket, and no change that is committed without a refresh after it.
 *
 * A job that is in the queue already stands for a change only if it has still to look. So whoever queues one locks the bucket
 * with others of his kind until his commit, and names the job by the bucket's generation; a job locks it for itself before
 * it looks, and counts the generation up. Who locked first is seen by the job; who comes after it gets another name.
 */
export function createRefreshJobs(definition: Definition, refresher: Refresher): RefreshJobs {
  const refreshes = qualified(sharedTables(definition).refreshes);
  const own = literal(ownName(definition));

  async function generation(tx: Queryable, { tenant, month }: Bucket): Promise<string> {
    const whose = tenant === null ? "tenant is null" : "tenant = $2::text";
    const { rows } = await explained(definition, () =>
      tx.query<{ locked: boolean; generation: string }>(
        `select coalesce(current_setting('svc.rollup', true), '') = 'on' as locked, coalesce((
  select generation from ${refreshes} where rollup = ${own} and month = $1::date and ${whose}
), 0)::text as generation`,
        [month, ...(tenant === null ? [] : [tenant])],
      ),
    );
    if (rows[0]?.locked === true) return rows[0].generation;
    throw new RollupError(
      "ERR_SVC_ROLLUP_TRANSACTION",
      "tx must be the connection of a transaction, the one that writes the rows",
    );
  }

  async function countUp(tx: Queryable, { tenant, month }: Bucket): Promise<void> {
    await explained(definition, () =>
      tx.query(
        `insert into ${refreshes} as kept (rollup, tenant, month, generation) values (${own}, $1::text, $2::date, 1)
on conflict (rollup, tenant, month) do update set generation = kept.generation + 1`,
        [tenant, month],
      ),
    );
  }

  async function lockOne(tx: Queryable, moment: Moment, mode: "refresh" | "queue"): Promise<Bucket> {
    const [bucket] = await refresher.lock(tx, [moment], mode);
    if (bucket === undefined) throw refused("there is no such moment");
    return bucket;
  }

  /** In the transaction that holds the lock of the bucket. */
  async function queue(
    jobs: RefreshQueue,
    bound: Queryable,
    bucket: Bucket,
    payload: RefreshPayload,
  ): Promise<{ id: string; enqueued: boolean }> {
    const job = jobOf(payload);
    const counted = await generation(bound, bucket);
    // The queue gets the transaction that the caller has given.
    const tx = original(bound);
    // With a snapshot that is older than the lock the generation may be too: such a job is one more.
    if (bucket.isolation !== "read committed") return jobs.enqueue(job, { tx });
    // Of another zone, the moment of a job that is there may be in another month.
    const zone = definition.zone.toLowerCase();
    const parts = [definition.givenTable, zone, bucket.tenant, bucket.month, counted];
    const id = `rollup-${createHash("sha256").update(JSON.stringify(parts)).digest("hex")}`;
    const queued = await jobs.enqueue({ ...job, id }, { tx });
    if (queued.enqueued) return queued;
    // It may be dead without ever having counted: its workers were lost, or knew no such task.
    const revived = await jobs.retryDead?.([id], { tx });
    return { id, enqueued: revived?.includes(id) === true };
  }

  function jobOf(payload: RefreshPayload): Parameters<RefreshQueue["enqueue"]>[0] {
    return { task: taskOf(definition), payload, tenantId: payload.tenant };
  }

  return {
    async enqueue(jobs, moment, options = {}) {
      checkMembers("enqueueRefresh()", moment, ["tenant", "at"]);
      checkMembers("the options of enqueueRefresh()", options, ["tx"]);
      const { tx } = options;
      const payload = { tenant: tenantOf(definition, moment.tenant), at: instantOf(moment.at) };
      if (tx === undefined) return jobs.enqueue(jobOf(payload));
      const bound = inTransaction(definition, "enqueueRefresh()", tx);
      return queue(jobs, bound, await lockOne(bound, moment, "queue"), payload);
    },
    async enqueueMany(jobs, moments, options) {
      checkMembers("the options of enqueueRefreshMany()", options, ["tx"]);
      const { tx } = options;
      const bound = inTransaction(definition, "enqueueRefreshMany()", tx);
      const queued: { id: string; enqueued: boolean }[] = [];
      for (const bucket of await refresher.lock(bound, moments, "queue")) {
        const at = new Date(Number(bucket.from_s) * 1000).toISOString();
        queued.push(await queue(jobs, bound, bucket, { tenant: bucket.tenant, at }));
      }
      return queued;
    },
    async handle(db, payload, job) {
      checkMembers("the payload", payload, ["tenant", "at"]);
      const moment = payload as Moment;
      const tenant = tenantOf(definition, moment.tenant);
      const run = <T>(work: (tx: Queryable, bucket: Bucket) => Promise<T>): Promise<T> =>
        asTenant(db, command(definition, "a refresh job"), definition, tenant, async (tx) =>
          work(tx, await lockOne(tx, moment, "refresh")),
        );
      // A dead job keeps its name: what is changed from here on must not be taken for its work.
      if (job.attempts >= job.maxAttempts) await run(countUp);
      const { month, written, removed } = await run(async (tx, bucket) => {
        await countUp(tx, bucket);
        return refresher.recompute(tx, bucket);
      });
      return { month, written, removed };
    },
  };
}
