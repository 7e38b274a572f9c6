import { join } from "node:path";
import { joinPostgres } from "./postgres.ts";
import { testRunFolder } from "./test-run.ts";

let shared: Promise<{ readonly url: string; stop(): Promise<void> }> | undefined;

/** The URL of the server that all processes of this test run share; the first one that asks starts it. */
export async function sharedPostgres(): Promise<string> {
  shared ??= joinPostgres({ purpose: "test" }, join(testRunFolder(), "postgres.json"));
  return (await shared).url;
}

/** Lets go of the shared server. It ends when no process of the run holds it any more. */
export async function releaseSharedPostgres(): Promise<void> {
  const held = shared;
  shared = undefined;
  await (await held?.catch(() => undefined))?.stop();
}
