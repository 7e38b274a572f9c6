import { createHash } from "node:crypto";
import { type Database, literal, original, qualified, type Queryable } from "@svc/sql";
import { checkMembers, instantOf, type Moment, tenantOf } from "./arguments.ts";
import { asTenant, command, inTransaction } from "./connection.ts";
import { explained, refused, RollupError } from "./errors.ts";
import type { Definition } from "./definition.ts";
import type { Refreshed, Refresher } from "./refresh.ts";
import type { Bucket } from "./sql/lock.ts";
import { ownName, sharedTables } from "./sql/pieces.ts";

/** A queue for refresh jobs: a table of `@svc/job-table`, or another object with the same `enqueue()`. */
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
  /** Makes dead jobs pending and returns their ids. Default: a dead job blocks later refresh jobs of its bucket. */
  retryDead?(
    ids: readonly string[],
    options?: { readonly tx?: Queryable | undefined },
  ): Promise<readonly string[]>;
}

/** Payload of a refresh job. */
export interface RefreshPayload {
  readonly tenant: string | null;
  /** An instant in the bucket, ISO 8601 in UTC. */
  readonly at: string;
}

/** Job metadata that the handler receives with the payload. */
export interface RefreshJob {
  readonly attempts: number;
  readonly maxAttempts: number;
}

/** Handles one refresh job. */
export type RefreshHandler = (payload: unknown, job: RefreshJob) => Promise<Refreshed>;

/** Options of {@link Rollup.enqueueRefresh}. */
export interface EnqueueOptions {
  /** READ COMMITTED transaction that writes the rows. Default: none; the call then always queues a new job. */
  readonly tx?: Queryable | undefined;
}

export function taskOf({ name }: Definition): string {
  return `rollup.refresh.${name}`;
}

/**
 * Queues and handles refresh jobs. Keeps at most one pending job per bucket, and guarantees a refresh after every
 * committed change. A bucket's generation counts how many times jobs have refreshed it.
 *
 * A queued job covers a change only if it reads the rows after the change is committed. So `enqueue` takes a shared
 * lock on the bucket until its transaction commits, and includes the bucket's generation in the job's id. A running job
 * takes the exclusive lock before it reads, and increments the generation. The job sees the changes of a writer that
 * locked the bucket first; a later writer queues a job with a new id.
 */
export function createRefreshJobs(definition: Definition, refresher: Refresher) {
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
    throw new RollupError("ERR_SVC_ROLLUP_TRANSACTION", "tx must be the transaction that writes the rows");
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
    if (bucket === undefined) throw refused("at must be within the supported range of dates");
    return bucket;
  }

  /** Queues a job in the transaction `bound`, which holds the lock of the bucket. */
  async function queue(
    jobs: RefreshQueue,
    bound: Queryable,
    bucket: Bucket,
    payload: RefreshPayload,
  ): Promise<{ id: string; enqueued: boolean }> {
    const job = jobOf(payload);
    const counted = await generation(bound, bucket);
    // Pass the caller's own transaction to the queue, not the wrapper with the deadline.
    const tx = original(bound);
    // With a snapshot older than the lock, the generation may be outdated: queue a job without an id.
    if (bucket.isolation !== "read committed") return jobs.enqueue(job, { tx });
    const id = idOf(bucket, counted);
    const queued = await jobs.enqueue({ ...job, id }, { tx });
    if (queued.enqueued) return queued;
    // A dead job may not have incremented the generation, for example because its workers were lost: retry it.
    const revived = await jobs.retryDead?.([id], { tx });
    return { id, enqueued: revived?.includes(id) === true };
  }

  function idOf({ tenant, month }: Bucket, counted: string): string {
    // Include the zone: in another zone the same instant may belong to another month.
    const zone = definition.zone.toLowerCase();
    const parts = [definition.givenTable, zone, tenant, month, counted];
    return `rollup-${createHash("sha256").update(JSON.stringify(parts)).digest("hex")}`;
  }

  function jobOf(payload: RefreshPayload): Parameters<RefreshQueue["enqueue"]>[0] {
    return { task: taskOf(definition), payload, tenantId: payload.tenant };
  }

  return {
    async enqueue(jobs: RefreshQueue, moment: Moment, options: EnqueueOptions = {}) {
      checkMembers("the second argument of enqueueRefresh()", moment, ["tenant", "at"]);
      checkMembers("the options of enqueueRefresh()", options, ["tx"]);
      const { tx } = options;
      const payload = { tenant: tenantOf(definition, moment.tenant), at: instantOf(moment.at) };
      if (tx === undefined) return jobs.enqueue(jobOf(payload));
      const bound = inTransaction(definition, "enqueueRefresh()", tx);
      return queue(jobs, bound, await lockOne(bound, moment, "queue"), payload);
    },
    async enqueueMany(jobs: RefreshQueue, moments: readonly Moment[], options: Required<EnqueueOptions>) {
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
    /**
     * Returns whether a refresh of a bucket is pending or running. `tx` must hold the bucket's lock. A queue has no function
     * to look up a job, so this function queues a job and rolls back.
     */
    async isPending(jobs: RefreshQueue, bound: Queryable, bucket: Bucket): Promise<boolean> {
      const tx = original(bound);
      const id = idOf(bucket, await generation(bound, bucket));
      const at = new Date(Number(bucket.from_s) * 1000).toISOString();
      await bound.query("savepoint svc_rollup_probe");
      const { enqueued } = await jobs.enqueue({ ...jobOf({ tenant: bucket.tenant, at }), id }, { tx });
      // A dead job does not count, because it will not refresh the bucket.
      const revived = enqueued ? [] : ((await jobs.retryDead?.([id], { tx })) ?? []);
      await bound.query("rollback to savepoint svc_rollup_probe");
      return !enqueued && !revived.includes(id);
    },
    async handle(db: Database, payload: unknown, job: RefreshJob): Promise<Refreshed> {
      checkMembers("the payload", payload, ["tenant", "at"]);
      const moment = payload as Moment;
      const tenant = tenantOf(definition, moment.tenant);
      const run = <T>(work: (tx: Queryable, bucket: Bucket) => Promise<T>): Promise<T> =>
        asTenant(db, command(definition, "a refresh job"), definition, tenant, async (tx) =>
          work(tx, await lockOne(tx, moment, "refresh")),
        );
      // A dead job keeps its id: increment the generation, so that later changes get a new job.
      if (job.attempts >= job.maxAttempts) await run(countUp);
      const { month, written, removed } = await run(async (tx, bucket) => {
        await countUp(tx, bucket);
        return refresher.recompute(tx, bucket);
      });
      return { month, written, removed };
    },
  };
}

export type RefreshJobs = ReturnType<typeof createRefreshJobs>;
