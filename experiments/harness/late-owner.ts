import type { JobTable, Lease } from "@svc/job-table";
import { withTransaction } from "@svc/sql";
import type { Pool } from "pg";

/**
 * A way for an owner whose lease has expired to end its job. Resolves with true if the owner receives the error that the
 * lease is lost.
 */
export interface LateOwner {
  readonly name: string;
  end(lease: Lease): Promise<boolean>;
}

/** Returns every way to end a job. A broken variant checks the lease by its own faulty condition. */
export function lateOwners(variant: string, table: JobTable, pool: Pool): readonly LateOwner[] {
  const fence = fenceOf(variant);
  if (fence !== undefined) {
    const endBy =
      (sql: string): LateOwner["end"] =>
      async ({ id, attempts }) =>
        (await pool.query(`${sql} where ${fence}`, [id, attempts])).rowCount === 0;
    return [
      { name: "ack", end: endBy(`delete from ${table.name}`) },
      { name: "fail", end: endBy(`update ${table.name} set status = 'pending', last_error = 'late'`) },
      { name: "release", end: endBy(`update ${table.name} set status = 'pending', attempts = attempts - 1`) },
    ];
  }
  return [
    { name: "ack", end: async (lease) => !(await table.ack(lease)) },
    { name: "fail", end: async (lease) => (await table.fail(lease, "late")) === "lost" },
    {
      name: "fail for good",
      end: async (lease) => (await table.fail(lease, "late", { dead: true })) === "lost",
    },
    { name: "release", end: async (lease) => !(await table.release(lease)) },
    {
      name: "ack in a transaction",
      end: (lease) => withTransaction(pool, async (tx) => !(await table.ack(lease, { tx }))),
    },
  ];
}

function fenceOf(variant: string): string | undefined {
  if (variant === "broken-by-id") return "id = $1 and $2::int is not null";
  return variant === "broken-by-attempts" ? "id = $1 and attempts = $2 and status = 'running'" : undefined;
}
