import type { Queryable } from "@svc/sql";
import type { Calls } from "./claim-calls.ts";
import { errorText } from "./error-text.ts";
import type { Job } from "./job.ts";
import type { ResolvedOptions } from "./options.ts";
import { readClaimed, type UnreadJob } from "./payload.ts";
import { isShared, type Send } from "./query.ts";
import { jobOf } from "./sql/claimed-row.ts";
import { failSql } from "./sql/fail.ts";
import { leaseValues } from "./sql/lease-fence.ts";

/** Claims up to `limit` jobs. */
type Claim = (limit: number, tx: Queryable | undefined) => Promise<Job[]>;

// Limits the statements of one call, however many jobs have payloads that cannot be returned.
const MAX_ROUNDS = 100;

/**
 * Creates the function that claims jobs and returns those whose payloads can be read and match their schemas. The others fail,
 * and further jobs are claimed in their place, because an empty result means that no job is due.
 *
 * @param find claims jobs
 * @param send sends the statement that records failures
 * @param channel channel to notify of failed jobs; undefined for none
 */
export function createClaim(
  { db, quotedTable, payloadCheck, commandTimeoutMs, now }: ResolvedOptions,
  find: Calls["claim"],
  send: Send,
  channel: string | undefined,
): Claim {
  async function fail(unread: readonly UnreadJob[], tx: Queryable | undefined): Promise<void> {
    const notified = unread.some(({ dead }) => !dead) ? channel : undefined;
    const values: unknown[] = [
      ...leaseValues(unread.map(({ job }) => job)),
      unread.map(({ error }) => errorText(error)),
      unread.map(({ dead }) => dead),
    ];
    if (notified !== undefined) values.push(notified);
    await send(failSql(quotedTable, notified !== undefined), values, tx);
  }

  return async (limit, tx) => {
    const claimed: Job[] = [];
    const until = now() + commandTimeoutMs;
    for (let round = 1; ; round++) {
      try {
        const rows = await find(limit - claimed.length, tx);
        const { jobs, unread } = readClaimed(rows.filter((row) => !row.exhausted).map(jobOf), payloadCheck);
        claimed.push(...jobs);
        if (unread.length === 0) return claimed;
        await fail(unread, tx);
      } catch (error) {
        // Return these jobs, because they are leased. In a transaction, the failed statement has undone their leases.
        if (claimed.length > 0 && tx === undefined && isShared(db)) return claimed;
        throw error;
      }
      if (claimed.length >= limit || round >= MAX_ROUNDS || now() >= until) return claimed;
    }
  };
}
