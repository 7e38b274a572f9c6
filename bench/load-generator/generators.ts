import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Program } from "@svc/dev-services";
import { outputOf } from "../gateway-load/load.ts";
import { readWrk, wrk as wrkOfGateways } from "../gateway-load/wrk.ts";
import { pin } from "../harness/pin.ts";
import type { Effort, Reading } from "./reading.ts";

/** A load generator that is ready to run. Disposal ends its process. */
export interface Generator extends AsyncDisposable {
  run(effort: Effort): Promise<Reading>;
}

/** Starts a load generator that is a Node.js library in its own process, on the first CPU. */
export async function startLibrary(name: string): Promise<Generator> {
  const child = fork(new URL("./generator-process.ts", import.meta.url), [], {
    execArgv: ["--conditions=@svc/source"],
    env: { ...process.env, NODE_ENV: "production" },
  });
  const exited = once(child, "exit");
  await nextMessage(child, exited);
  pin(child.pid, 0);
  return {
    async run(effort) {
      child.send({ name, effort });
      const reading = (await nextMessage(child, exited)) as Reading | { readonly error: string };
      if ("error" in reading) throw new Error(reading.error);
      return reading;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function nextMessage(child: ChildProcess, exited: Promise<unknown>): Promise<unknown> {
  const first = await Promise.race([once(child, "message"), exited.then(() => undefined)]);
  if (first === undefined) throw new Error(`the load generator ended with ${child.exitCode}`);
  return (first as readonly unknown[])[0];
}

export const wrkProgram: Program = wrkOfGateways.program;

/** Returns wrk. bash runs it in order to print its CPU time. */
export function wrk(file: string): Generator {
  return {
    async run({ url, clients, seconds }) {
      const args = ["-t1", `-c${clients}`, `-d${seconds}s`, "--latency", url];
      const output = await outputOf("bash", ["-c", '"$@"; times', "bash", file, ...args]);
      const { requestsPerSecond, p99Ms } = readWrk(output);
      const [, requests] = /^ +(\d+) requests in /m.exec(output) ?? [];
      return { requestsPerSecond, p99Ms, cpuUs: (secondsOfChildren(output) * 1e6) / Number(requests) };
    },
    async [Symbol.asyncDispose]() {
      // Each run ends its own process, so there is nothing to dispose of.
    },
  };
}

/** Returns the CPU time that the last line of `times` reports: user and system time of the children. */
function secondsOfChildren(output: string): number {
  const times = [...(output.trim().split("\n").at(-1) ?? "").matchAll(/(\d+)m([\d.]+)s/g)];
  return times.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}
