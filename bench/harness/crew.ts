import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { Order, Reply } from "./child.ts";
import { lastCpu, pin } from "./pin.ts";
import type { Case, Listening, Spent } from "./subject.ts";

/** The process of a case, as the parent sees it. */
export interface Member {
  readonly name: string;
  /** Runs `count` pieces of work and resolves with the CPU time of each, in microseconds. */
  run(count: number): Promise<number>;
  /** Runs `count` pieces of work and resolves with CPU and wall-clock time of each. */
  time(count: number): Promise<Spent>;
  listen(): Promise<Listening>;
  /** Resolves with the CPU time of the process so far, in microseconds. */
  cpuUs(): Promise<number>;
}

/** All processes of a run. Leaving the `await using` block ends them. */
export interface Crew extends AsyncDisposable {
  readonly members: readonly Member[];
}

// Use one size of the young generation for all cases. By default V8 shrinks it in an idle process by an amount that depends
// on the loaded code, which changed results by a fifth. A busy server has the largest size.
const nodeFlags = ["--conditions=@svc/source", "--min-semi-space-size=16", "--max-semi-space-size=16"];
// This limit is far longer than a slice. A case that does not reply within this time fails the run.
const answerWithinMs = 60_000;
const childFile = new URL("./child.ts", import.meta.url);

/**
 * Starts one process for each case, and waits until each has proved that it does what its name says.
 *
 * @param onOneCpu whether all processes run on the same CPU. Otherwise each process would stay on the CPU on which it
 *   started, and the CPUs of a shared machine differ in speed. False for work in the thread pool, which needs several CPUs
 * @throws Error that names the case whose proof fails
 */
export async function startCrew(cases: readonly Case[], onOneCpu = false): Promise<Crew> {
  const processes = cases.map(startProcess);
  if (onOneCpu) processes.forEach(({ pid }) => pin(pid, lastCpu));
  const stop = async (): Promise<void> => {
    await Promise.all(processes.map(end));
  };
  const members = cases.map(({ name }, index) => memberOf(name, processes[index] as ChildProcess));
  try {
    const proofs = members.map((member) => member.ask({ order: "prove" }));
    await Promise.all(proofs);
  } catch (error) {
    await stop();
    throw error;
  }
  return { members, [Symbol.asyncDispose]: stop };
}

function startProcess({ module, setting = "" }: Case): ChildProcess {
  return fork(childFile, [module.href, setting], {
    execArgv: nodeFlags,
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}

function memberOf(name: string, child: ChildProcess): Member & { ask(order: Order): Promise<Reply> } {
  async function ask(order: Order): Promise<Reply> {
    const gone = new AbortController();
    const reply = Promise.race([
      once(child, "message", { signal: gone.signal }).then(([message]) => message as Reply),
      once(child, "exit", { signal: gone.signal }).then(([code]) => ({
        error: `its process ended with ${code}`,
      })),
      delay(answerWithinMs, { error: `no reply within ${answerWithinMs / 1000} s` }, { signal: gone.signal }),
    ]);
    child.send(order);
    try {
      const answer = await reply;
      if ("error" in answer) throw new Error(`${name}: ${answer.error}`);
      return answer;
    } finally {
      gone.abort();
    }
  }

  async function askForTime(order: Order): Promise<Spent> {
    const reply = await ask(order);
    if (!("cpuUs" in reply)) throw new Error(`${name}: the reply to another request`);
    return reply;
  }

  async function time(count: number): Promise<Spent> {
    const { cpuUs, wallUs } = await askForTime({ order: "run", count });
    return { cpuUs: cpuUs / count, wallUs: wallUs / count };
  }

  return {
    name,
    ask,
    time,
    run: async (count) => (await time(count)).cpuUs,
    cpuUs: async () => (await askForTime({ order: "cpu" })).cpuUs,
    async listen() {
      const reply = await ask({ order: "listen" });
      if (!("port" in reply)) throw new Error(`${name}: the reply to another request`);
      return reply;
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
