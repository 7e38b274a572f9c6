import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send } from "./client.ts";
import { type HeldUp, sumOf, type Time } from "./held-up.ts";
import { startService } from "./service-process.ts";

const everyMs = 50;
/** What an answer of a busy machine takes at any time. */
const usualMs = 100;

/** The times at which we stood still, or a server in a process of its own that has nothing to do with what is tested. */
export interface Witness extends HeldUp, AsyncDisposable {
  readonly pid: number;
}

/** Asks a plain server of Node all the time, until it is disposed of. */
export async function startWitness(): Promise<Witness> {
  const server = await startService("witness.ts", {});
  const agent = keepAliveAgent(1);
  const times: Time[] = [];
  const end = new AbortController();
  let due = performance.now();

  async function watch(): Promise<void> {
    while (!end.signal.aborted && server.exit === undefined) {
      await send(server.port, "/", { agent });
      const now = performance.now();
      if (now - due > usualMs) times.push([due, now]);
      due = now + everyMs;
      await delay(everyMs);
    }
  }
  const watching = watch();

  return {
    pid: server.pid,
    between(from, to) {
      // Who does not answer any more would excuse everything.
      if (server.exit !== undefined) throw new Error("the witness has ended");
      // The last one may not have been answered yet.
      return sumOf([...times, [due + usualMs, performance.now()]], from, to);
    },
    [Symbol.dispose]: () => end.abort(),
    async [Symbol.asyncDispose]() {
      end.abort();
      await watching;
      agent.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}
