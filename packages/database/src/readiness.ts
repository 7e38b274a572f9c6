import type { CheckResult, ReadinessCheck } from "@svc/context";
import { DeadlineError, singleFlight, withDeadline } from "@svc/resilience";
import { isConnectionError, safeErrorText, sqlStateOf } from "@svc/sql";
import type { Client } from "pg";
import { cut } from "./guarded-client.ts";
import type { ResolvedDatabase } from "./options.ts";
import type { PoolSource } from "./pool-source.ts";

/** A database's readiness check, and the function that closes the check's connection. */
export interface Probe {
  readonly check: ReadinessCheck;
  close(): void;
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ["28000", "the login was refused"],
  ["28P01", "the password was refused"],
  ["3D000", "the database does not exist"],
  ["42501", "the database role has no right to connect"],
  ["53300", "the server has no connection left"],
  ["57P01", "the server is shutting down"],
  ["57P03", "the server is starting or stopping"],
]);

/** The state of the database object that the check reads. */
export interface Asked {
  /** Returns whether the service relies on row security. */
  readonly rowSecurity: () => boolean;
  /** Returns the pool's connection counts for the check's `meta`. */
  readonly meta: () => Readonly<Record<string, number>>;
}

// Returns a row or none, because type parsers of the caller may change any value.
const BYPASSES = `
select from pg_catalog.pg_roles where rolname = current_user and (rolsuper or rolbypassrls)`;

/**
 * Creates a readiness check with its own connection. In the application's pool the check would queue behind requests,
 * and a busy service would report that its database is down.
 *
 * @param source the pool; the check adds its own connection to the set of open ones
 */
export function createProbe(
  options: ResolvedDatabase,
  { client: config, newClient, lendsNone, open }: PoolSource,
  { rowSecurity, meta }: Asked,
): Probe {
  const { name, critical, readinessTimeoutMs, logger } = options;
  let held: Client | undefined;
  let givenUp: Client | undefined;
  let closed = false;
  let bypasses: boolean | undefined;

  async function look(client: Client): Promise<void> {
    if (!rowSecurity()) {
      await client.query("select 1");
      return;
    }
    const { rows } = await client.query(BYPASSES);
    const found = rows.length > 0;
    if (found && bypasses !== true) {
      logger?.warn(
        { database: name },
        "the database role bypasses row security, so the rows of tenants are not separated",
      );
    }
    bypasses = found;
  }

  function drop(client: Client | undefined): void {
    if (client === undefined) return;
    if (held === client) held = undefined;
    open.delete(client);
    void cut(client);
  }

  function fresh(): Client {
    const client = newClient({
      ...config,
      connectionTimeoutMillis: readinessTimeoutMs,
      query_timeout: readinessTimeoutMs,
    });
    client.on("error", () => drop(client));
    client.once("end", () => open.delete(client));
    open.add(client);
    held = client;
    return client;
  }

  const asked = singleFlight(async () => {
    const old = held;
    if (old !== undefined) {
      try {
        await look(old);
        return;
      } catch (error) {
        drop(old);
        // The connection may have broken between two checks, so try a new one.
        if (!isConnectionError(error) || closed || givenUp === old) throw error;
      }
    }
    const client = fresh();
    try {
      await client.connect();
      await look(client);
    } catch (error) {
      drop(client);
      throw error;
    }
  });

  async function check(signal: AbortSignal): Promise<CheckResult> {
    try {
      const reason = closed ? "closed" : lendsNone();
      if (reason !== undefined) return { healthy: false, detail: reason, meta: meta() };
      await withDeadline(readinessTimeoutMs, () => asked(), { signal });
      const numbers = meta();
      const notes = ["connected"];
      if (Number(numbers["waiting"]) > 0) notes.push(`${numbers["waiting"]} waiting for a connection`);
      if (bypasses === true) notes.push("the database role bypasses row security");
      const security = bypasses === undefined ? {} : { row_security: bypasses ? "bypassed" : "enforced" };
      return { healthy: true, detail: notes.join("; "), meta: { ...numbers, ...security } };
    } catch (error) {
      // A caller that aborts must not fail the check of another one, which shares the query.
      if (error instanceof DeadlineError) {
        givenUp = held;
        drop(held);
      }
      return { healthy: false, detail: detailOf(error), meta: meta() };
    }
  }

  return {
    check: { name, critical, check },
    close() {
      closed = true;
      const client = held;
      held = undefined;
      client?.end().catch(() => undefined);
    },
  };
}

function detailOf(error: unknown): string {
  if (error instanceof DeadlineError) return `no answer within ${error.ms} ms`;
  const words = WORDS.get(sqlStateOf(error) ?? "");
  if (words !== undefined) return words;
  const text = safeErrorText(error);
  return /^SQLSTATE |^E[A-Z]+/.test(text) && text !== "Error" ? `not answering (${text})` : "not answering";
}
