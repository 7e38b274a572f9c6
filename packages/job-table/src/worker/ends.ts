import type { ClaimedRow } from "../sql/claim.ts";
import { deleteSql, deleteValues, failSql, leaseValues, releaseSql } from "../sql/end.ts";
import { errorText } from "../error-text.ts";
import type { Job } from "../job.ts";
import type { Session } from "./session.ts";

/** The outcome of a job in this worker, to be written to the table. */
export interface End {
  readonly kind: "done" | "failed" | "released";
  readonly job: Job;
  readonly claimedAt: number;
  readonly durationMs: number;
  readonly error?: unknown;
  /** Whether to dead-letter the job at once. */
  readonly bury: boolean;
  /** Whether an earlier statement for it failed, and may still have taken effect. */
  unsure: boolean;
}

/** The state of the job in the table afterwards. */
export type Recorded = "done" | "pending" | "dead" | "released" | "lost";

export interface Ends {
  readonly size: number;
  /** Whether some outcomes need `flush`, because a claim cannot record them. */
  readonly urgent: boolean;
  add(end: Omit<End, "unsure">): void;
  /** Removes up to 1,000 finished jobs for a claim to delete; call `recordDone` or `giveBack` with them. */
  takeDone(): End[];
  /** `held`: the ids with a valid lease; undefined: all. */
  recordDone(ends: readonly End[], held: ReadonlySet<unknown> | undefined): void;
  giveBack(ends: readonly End[]): void;
  /** Writes all outcomes, one statement per kind. Rejects with the database's error and keeps the unwritten ones. */
  flush(session: Session): Promise<void>;
}

const MAX_BATCH = 1000;

/** @param onRecorded called for each written outcome; must not throw */
export function createEnds(
  table: string,
  visibilityMs: number,
  onRecorded: (end: End, recorded: Recorded) => void,
): Ends {
  const waiting: Record<End["kind"], End[]> = { done: [], failed: [], released: [] };
  const deleting = deleteSql(table, 1);
  const failing = failSql(table);
  const releasing = releaseSql(table);

  function tell(end: End, recorded: Recorded | undefined, otherwise: Recorded): void {
    if (recorded !== undefined) return onRecorded(end, recorded);
    // After a lost answer it is unknown whether the statement found the lease; after the lease's end probably not.
    const late = performance.now() - end.claimedAt >= visibilityMs;
    onRecorded(end, end.unsure && !late ? otherwise : "lost");
  }

  async function batch(kind: End["kind"], record: (ends: readonly End[]) => Promise<void>): Promise<void> {
    while (waiting[kind].length > 0) {
      const ends = waiting[kind].splice(0, MAX_BATCH);
      try {
        await record(ends);
      } catch (error) {
        giveBack(ends);
        throw error;
      }
    }
  }

  function giveBack(ends: readonly End[]): void {
    for (const end of ends) {
      end.unsure = true;
      waiting[end.kind].push(end);
    }
  }

  const leases = (ends: readonly End[]): unknown[] => leaseValues(ends.map(({ job }) => job));
  const recordDone = (ends: readonly End[], held: ReadonlySet<unknown> | undefined): void => {
    for (const end of ends) tell(end, (held?.has(end.job.id) ?? true) ? "done" : undefined, "done");
  };

  return {
    get size() {
      return waiting.done.length + waiting.failed.length + waiting.released.length;
    },
    get urgent() {
      return waiting.failed.length + waiting.released.length > 0;
    },
    add: (end) => void waiting[end.kind].push({ ...end, unsure: false }),
    takeDone: () => waiting.done.splice(0, MAX_BATCH),
    recordDone,
    giveBack,
    async flush(session) {
      await batch("done", async (ends) => {
        const rows = await session.query<Pick<ClaimedRow, "id">>(
          "svc_job_ack",
          deleting,
          deleteValues(ends.map(({ job }) => job)),
        );
        recordDone(ends, rows.length === ends.length ? undefined : new Set(rows.map(({ id }) => id)));
      });
      await batch("failed", async (ends) => {
        const values = [
          ...leases(ends),
          ends.map(({ error }) => errorText(error)),
          ends.map(({ bury }) => bury),
        ];
        const rows = await session.query<{ id: string; status: string }>("svc_job_fail", failing, values);
        const statuses = new Map(
          rows.map(({ id, status }) => [id, status === "dead" ? "dead" : "pending"] as const),
        );
        for (const end of ends) {
          const { attempts, maxAttempts } = end.job;
          tell(end, statuses.get(end.job.id), end.bury || attempts >= maxAttempts ? "dead" : "pending");
        }
      });
      await batch("released", async (ends) => {
        const rows = await session.query<{ id: string }>("svc_job_release", releasing, leases(ends));
        const held = new Set(rows.map(({ id }) => id));
        for (const end of ends) tell(end, held.has(end.job.id) ? "released" : undefined, "released");
      });
    },
  };
}
