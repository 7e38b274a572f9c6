import { Client, type ClientConfig } from "pg";
import { maskUrl } from "./attempts.ts";

/** Returns a variable's value; undefined when it is unset or empty. */
export function fromEnvironment(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const value = env[name];
  return value === undefined || value === "" ? undefined : value;
}

/**
 * Checks that the server named by an environment variable responds. There is no fallback to another server.
 *
 * @throws Error with the URL, password masked, if the server does not respond within `ms` milliseconds
 */
export async function answersWithin(variable: string, url: string, ms = 5000): Promise<void> {
  let client: Client | undefined;
  try {
    client = new Client({ connectionString: url, connectionTimeoutMillis: ms, query_timeout: ms });
    client.on("error", () => undefined);
    await client.connect();
    await client.query("select 1");
  } catch (error) {
    // Use only the code, because the driver's message may contain the whole address.
    const code = (error as NodeJS.ErrnoException).code ?? "no answer";
    throw new Error(
      `${variable} names ${maskUrl(url)}, which does not answer within ${ms / 1000} s (${code}). ` +
        `Start that server, or unset ${variable} to have one started.`,
    );
  } finally {
    client?.end().catch(() => undefined);
  }
}

/** Connects to a database, and disconnects when `work` is done. */
export async function withClient<T>(config: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(config);
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
