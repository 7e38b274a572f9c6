import { join } from "node:path";
import { joinPostgres } from "./postgres.ts";
import { testRunFolder } from "./test-run.ts";

let shared: Promise<{ readonly url: string; stop(): Promise<void> }> | undefined;

/** Returns the URL of the server that all processes of this test run share; the first caller starts it. */
export async function sharedPostgres(): Promise<string> {
  shared ??= joinPostgres({ purpose: "test" }, join(testRunFolder(), "postgres.json"));
  return (await shared).url;
}

/** Releases the shared server. It ends when all processes of the run have released it. */
export async function releaseSharedPostgres(): Promise<void> {
  const held = shared;
  shared = undefined;
  await (await held?.catch(() => undefined))?.stop();
}
