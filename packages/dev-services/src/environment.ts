import { Client } from "pg";
import { maskUrl } from "./attempts.ts";

/** A variable's value; undefined also when it is empty. */
export function fromEnvironment(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const value = env[name];
  return value === undefined || value === "" ? undefined : value;
}

/**
 * Makes sure that the PostgreSQL that somebody named is there: another one is never used in its place.
 *
 * @throws Error with the URL, its password masked, when it does not answer in time
 */
export async function answersWithin(variable: string, url: string, ms = 5000): Promise<void> {
  let client: Client | undefined;
  try {
    client = new Client({ connectionString: url, connectionTimeoutMillis: ms, query_timeout: ms });
    client.on("error", () => undefined);
    await client.connect();
    await client.query("select 1");
  } catch (error) {
    // The code alone: what a driver says may hold the address with all that is in it.
    const code = (error as NodeJS.ErrnoException).code ?? "no answer";
    throw new Error(
      `${variable} names ${maskUrl(url)}, which does not answer within ${ms / 1000} s (${code}). ` +
        `Start that server, or unset ${variable} to have one started.`,
    );
  } finally {
    client?.end().catch(() => undefined);
  }
}
