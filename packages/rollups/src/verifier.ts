import type { Logger } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import {
  bounded,
  type Database,
  databaseKind,
  original,
  type Queryable,
  safeErrorText,
  withTransaction,
} from "@svc/sql";
import { command, onConnection } from "./connection.ts";
import type { Definition } from "./definition.ts";
import { RollupError } from "./errors.ts";
import type { RefreshQueue } from "./jobs.ts";
import { resolveRollups } from "./named-rollups.ts";
import { monthsBefore } from "./months-before.ts";
import type { Rollup } from "./rollup.ts";
import {
  beginRound,
  endTurn,
  ensureVerifications,
  type Findings,
  readRounds,
  type Verification,
  verificationsTable,
} from "./verifications.ts";
import type { VerifiedTurn } from "./verify-next.ts";

/** Task of the job that a schedule queues. */
export const VERIFY_TASK = "rollups:verify";
/** Task of the jobs that each compare some tenants of a rollup. */
export const TURN_TASK = "rollups:verify-tenants";
// A turn ends after this time, so that its job ends long before the time limit of jobs.
const TURN_MS = 30_000;

/** A queue for the jobs of a verification: a table of `@svc/job-table`, or another object with the same `enqueue()`. */
export interface VerifierQueue extends RefreshQueue {
  enqueue: RefreshQueue["enqueue"] &
    ((
      job: { readonly task: string; readonly payload: TurnPayload; readonly tenantId: null },
      options: { readonly tx: Queryable },
    ) => Promise<unknown>);
}

export const verifierOptions = defineOptions("createVerifier()", {
  /** The rollups by name. Required. */
  rollups: { kind: k.objectWith<Readonly<Record<string, Rollup>>>("an object of rollups by name") },
  /** A pool, or a database of `@svc/database`. Required. */
  db: { kind: databaseKind },
  /** The queue of the jobs, and of `enqueueRefresh()`. Required. */
  jobs: { kind: k.objectWith<VerifierQueue>("a job table", "enqueue") },
  /** Number of months to compare: the current one and those before it. Default: 3. */
  months: { kind: k.withDefault(k.integer({ min: 1, max: 1200 }), 3) },
  /** Whether to recompute buckets that differ. Default: false. */
  repair: { kind: k.withDefault(k.boolean(), false) },
  /** Logs a warning for each round that finds a difference. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "warn")) },
});

/** Options of {@link createVerifier}. */
export type VerifierOptions = OptionsOf<typeof verifierOptions>;

/** The part of a running job that the handlers use. */
interface VerifyJob {
  readonly signal?: AbortSignal | undefined;
  readonly attempts?: number | undefined;
  readonly maxAttempts?: number | undefined;
}

/** Compares totals with their rows, by jobs of at most 100 tenants each. */
export interface Verifier {
  /** Creates the tables of verifications. @throws SchemaError */
  ensureSchema(): Promise<void>;
  /**
   * The handlers of the jobs. A job of the task `rollups:verify`, which a schedule queues, starts a round of each rollup; its
   * payload has the tick as `scheduled_for`, ISO 8601.
   */
  readonly handlers: Readonly<Record<string, (payload: unknown, job: VerifyJob) => Promise<void>>>;
  /** Returns the last complete round of each rollup; undefined before the first one. */
  verifications(): Promise<Readonly<Record<string, Verification | undefined>>>;
}

/** Payload of a job that compares some tenants of a rollup. */
export interface TurnPayload {
  readonly rollup: string;
  readonly round: string;
  readonly turn: number;
  readonly after?: string | undefined;
}

/** @throws ConfigurationError */
export function createVerifier(given: VerifierOptions): Verifier {
  const { rollups, db, jobs, months, repair, logger } = verifierOptions.resolve(given);
  const named = resolveRollups(verifierOptions.subject, "rollups", rollups);
  const enqueue = (payload: TurnPayload, tx: Queryable): Promise<unknown> =>
    jobs.enqueue({ task: TURN_TASK, payload, tenantId: null }, { tx: original(tx) });

  async function begin(payload: unknown): Promise<void> {
    const round = roundOf(payload);
    for (const { name, definition } of named) {
      await inTransaction(db, definition, async (tx) => {
        if (await beginRound(tx, definition, round)) await enqueue({ rollup: name, round, turn: 0 }, tx);
      });
    }
  }

  async function runTurn(payload: unknown, job: VerifyJob): Promise<void> {
    const { rollup: name, round, turn } = payload as TurnPayload;
    const found = named.find((each) => each.name === name);
    if (found === undefined) throw new Error(`this process has no rollup ${JSON.stringify(name)}`);
    const { rollup, definition } = found;
    const done = await compare(rollup, payload as TurnPayload, job);
    const findings = await inTransaction(db, definition, async (tx) => {
      const counted = await endTurn(tx, definition, { round, turn }, done, done.error);
      if (counted !== undefined && done.next !== undefined)
        await enqueue({ rollup: name, round, turn: turn + 1, after: done.next }, tx);
      return counted;
    });
    if (findings !== undefined && done.next === undefined) warn(name, findings);
  }

  async function compare(
    rollup: Rollup,
    { round, after }: TurnPayload,
    { signal, attempts = 0, maxAttempts = Infinity }: VerifyJob,
  ): Promise<VerifiedTurn & { readonly error?: string }> {
    const range = monthsBefore(new Date(round), rollup.timeZone, months);
    const ending = AbortSignal.any([AbortSignal.timeout(TURN_MS), ...(signal === undefined ? [] : [signal])]);
    try {
      return await rollup.verifyNext(db, { ...range, after, jobs, repair, signal: ending });
    } catch (error) {
      // The next round may succeed, for example after rebuildAll(), but another attempt of this job would not. The last
      // attempt of a job ends the round, which would otherwise stay open without a job.
      const isOwn = error instanceof RollupError;
      if (!isOwn && attempts < maxAttempts) throw error;
      const reason = isOwn ? error.message : safeErrorText(error);
      return { tenants: 0, drift: [], failed: [], next: undefined, error: reason };
    }
  }

  function warn(rollup: string, findings: Findings): void {
    const { examples, buckets, differing, repaired, unrepaired, failed, failures, error } = findings;
    const drift = examples.map(({ tenant, month }) => ({ tenant, month: month.slice(0, 7) }));
    if (error !== undefined) logger?.warn({ rollup, reason: error }, "a rollup cannot be verified");
    if (failed > 0) logger?.warn({ rollup, failed, failures }, "some tenants could not be compared");
    if (buckets === 0) return;
    const reason = unrepaired === undefined ? {} : { reason: unrepaired };
    logger?.warn({ rollup, buckets, differing, repaired, ...reason, drift }, "totals differ from their rows");
  }

  return {
    async ensureSchema() {
      const tables = new Map(named.map(({ definition }) => [verificationsTable(definition), definition]));
      for (const definition of tables.values()) await ensureVerifications(db, definition);
    },
    handlers: { [VERIFY_TASK]: (payload) => begin(payload), [TURN_TASK]: runTurn },
    async verifications() {
      const [first] = named;
      if (first === undefined) return {};
      return onConnection(db, command(first.definition, "verifications()"), async (connection) => {
        const found: Record<string, Verification | undefined> = {};
        for (const { name, definition } of named)
          found[name] = (await readRounds(connection, definition)).last;
        return found;
      });
    },
  };
}

function roundOf(payload: unknown): string {
  const { scheduled_for: tick } = (payload ?? {}) as { readonly scheduled_for?: unknown };
  const at = new Date(typeof tick === "string" ? tick : Number.NaN);
  if (Number.isNaN(at.getTime()))
    throw new Error("the payload must have the tick as scheduled_for, ISO 8601");
  return at.toISOString();
}

function inTransaction<T>(
  db: Database,
  definition: Definition,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  return withTransaction(bounded(db, command(definition, "a verification")), work, {
    isolation: "read committed",
  });
}
