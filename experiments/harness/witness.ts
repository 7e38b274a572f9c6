import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send } from "./client.ts";
import { type HeldUp, sumOf, type Time } from "./held-up.ts";
import { startService } from "./service-process.ts";

const everyMs = 50;
/** The usual time of an answer on a busy machine, in milliseconds. */
const usualMs = 100;

/** The stalls of this process, or of a plain server in another process that runs none of the tested code. */
export interface Witness extends HeldUp, AsyncDisposable {
  readonly pid: number;
}

/** Sends requests to a plain Node server until it is disposed of. */
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
      // A server that has ended would excuse every delay.
      if (server.exit !== undefined) throw new Error("the witness has ended");
      // Include the request that still waits for its answer.
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
