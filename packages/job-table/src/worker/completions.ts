import { errorText } from "../error-text.ts";
import type { Job } from "../job.ts";
import { deleteSql, deleteValues } from "../sql/ack.ts";
import { failSql } from "../sql/fail.ts";
import { leaseValues } from "../sql/lease-fence.ts";
import { releaseSql } from "../sql/release.ts";
import type { Session } from "./session.ts";

/** How a job ended in this worker, to be recorded in the table. */
export interface Completion {
  readonly kind: "done" | "failed" | "released";
  readonly job: Job;
  readonly claimedAt: number;
  readonly durationMs: number;
  readonly error?: unknown;
  /** The trace of the job's span, which may begin with the job. Default: the job's own trace. */
  readonly traceId?: string | undefined;
  /** Whether to dead-letter the job immediately. */
  readonly dead: boolean;
  /** Whether an earlier statement for the job failed but may still have taken effect. */
  unsure: boolean;
}

export type Outcome = "done" | "pending" | "dead" | "released" | "lost";

export interface Completions {
  readonly size: number;
  /** Whether some completions need `flush`, because a claim can delete only jobs that are done. */
  readonly needFlush: boolean;
  add(completion: Omit<Completion, "unsure">): void;
  /**
   * Removes and returns up to 1,000 jobs that are done, for a claim to delete. Call `deleted` or `putBack` with them.
   */
  takeDone(): Completion[];
  /** `held`: the ids whose leases were valid; undefined means all. */
  deleted(batch: readonly Completion[], held: ReadonlySet<unknown> | undefined): void;
  putBack(batch: readonly Completion[]): void;
  /** Writes all completions, one statement per kind. Rejects with the database's error and keeps the unwritten ones. */
  flush(session: Session): Promise<void>;
}

type Kind = Completion["kind"];
const KINDS: readonly Kind[] = ["done", "failed", "released"];
const MAX_BATCH = 1000;

/**
 * @param channel where to notify other workers of released and failed jobs; undefined sends no notification
 * @param onWritten called for each written completion; must not throw
 */
export function createCompletions(
  table: string,
  visibilityMs: number,
  channel: string | undefined,
  onWritten: (completion: Completion, outcome: Outcome) => void,
): Completions {
  const waiting: Record<Kind, Completion[]> = { done: [], failed: [], released: [] };
  const deleting = deleteSql(table, 1);
  const failing = failSql(table, channel !== undefined);
  const releasing = releaseSql(table, channel !== undefined);

  /** Writes a batch. Returns the new states of the jobs whose leases were valid. */
  const write: Record<Kind, (session: Session, batch: Completion[]) => Promise<Map<string, Outcome>>> = {
    async done(session, batch) {
      const rows = await session.query<{ id: string }>("svc_job_ack", deleting, deleteValues(jobsOf(batch)));
      return new Map(rows.map(({ id }) => [id, "done"]));
    },
    async failed(session, batch) {
      const errors = batch.map(({ error }) => errorText(error));
      const values: unknown[] = [...leaseValues(jobsOf(batch)), errors, batch.map(({ dead }) => dead)];
      if (channel !== undefined) values.push(channel);
      const rows = await session.query<{ id: string; status: string }>("svc_job_fail", failing, values);
      return new Map(rows.map(({ id, status }) => [id, status === "dead" ? "dead" : "pending"]));
    },
    async released(session, batch) {
      const values: unknown[] = leaseValues(jobsOf(batch));
      if (channel !== undefined) values.push(channel);
      const rows = await session.query<{ id: string }>("svc_job_release", releasing, values);
      return new Map(rows.map(({ id }) => [id, "released"]));
    },
  };

  function reportBatch(
    batch: readonly Completion[],
    outcomeOf: (completion: Completion) => Outcome | undefined,
  ): void {
    for (const each of batch) {
      // After a lost response it is unknown whether the lease was valid. If the lease has expired by now, assume that it
      // was invalid.
      const late = performance.now() - each.claimedAt >= visibilityMs;
      onWritten(each, outcomeOf(each) ?? (each.unsure && !late ? expectedOutcome(each) : "lost"));
    }
  }

  function putBack(batch: readonly Completion[]): void {
    for (const each of batch) {
      each.unsure = true;
      waiting[each.kind].push(each);
    }
  }

  return {
    get size() {
      return waiting.done.length + waiting.failed.length + waiting.released.length;
    },
    get needFlush() {
      return waiting.failed.length + waiting.released.length > 0;
    },
    add: (completion) => void waiting[completion.kind].push({ ...completion, unsure: false }),
    takeDone: () => waiting.done.splice(0, MAX_BATCH),
    deleted(batch, held) {
      reportBatch(batch, ({ job }) => ((held?.has(job.id) ?? true) ? "done" : undefined));
    },
    putBack,
    async flush(session) {
      for (const kind of KINDS) {
        while (waiting[kind].length > 0) {
          const batch = waiting[kind].splice(0, MAX_BATCH);
          let written: Map<string, Outcome>;
          try {
            written = await write[kind](session, batch);
          } catch (error) {
            putBack(batch);
            throw error;
          }
          reportBatch(batch, ({ job }) => written.get(job.id));
        }
      }
    },
  };
}

function jobsOf(batch: readonly Completion[]): Job[] {
  return batch.map(({ job }) => job);
}

function expectedOutcome({ kind, job, dead }: Completion): Outcome {
  if (kind !== "failed") return kind;
  return dead || job.attempts >= job.maxAttempts ? "dead" : "pending";
}
