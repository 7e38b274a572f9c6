import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { Order, Reply, Share, ShareOrder, Took } from "./child.ts";

/** A queue in its own process. */
export interface Member {
  readonly name: string;
  readonly about: string;
  time(order: Order): Promise<Took>;
  latencies(order: Order): Promise<readonly number[]>;
  share(order: ShareOrder): Promise<Share>;
}

export interface Members extends AsyncDisposable {
  readonly all: readonly Member[];
}

const ANSWER_WITHIN_MS = 120_000;
const childFile = new URL("./child.ts", import.meta.url);
// As in the other benches, all processes use the same size of the young generation.
const nodeFlags = ["--conditions=@svc/source", "--min-semi-space-size=16", "--max-semi-space-size=16"];

/** The arguments of one process: queue name, database URL, and child module if it comes from another checkout. */
export interface Place {
  readonly name: string;
  readonly url: string;
  readonly child?: URL | undefined;
}

/** Starts a process for each queue. */
export async function startMembers(places: readonly Place[], serverPid: number): Promise<Members> {
  const processes = places.map(({ name, url, child = childFile }) =>
    fork(child, [name, url, String(serverPid)], {
      execArgv: nodeFlags,
      env: { ...process.env, NODE_ENV: "production" },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    }),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(processes.map(end));
  };
  try {
    const all: Member[] = [];
    for (const [index, { name }] of places.entries())
      all.push(await memberOf(name, processes[index] as ChildProcess));
    return { all, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function memberOf(name: string, child: ChildProcess): Promise<Member> {
  async function ask(order: Order): Promise<Reply> {
    const gone = new AbortController();
    const { signal } = gone;
    const reply = Promise.race([
      once(child, "message", { signal }).then(([message]) => message as Reply),
      once(child, "exit", { signal }).then(([code]) => ({ error: `its process ended with ${code}` })),
      delay(ANSWER_WITHIN_MS, { error: `no reply within ${ANSWER_WITHIN_MS / 1000} s` }, { signal }),
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
  const first = await ask({ order: "about" });
  return {
    name,
    about: "about" in first ? first.about : "",
    async time(order) {
      const answer = await ask(order);
      if (!("wallUs" in answer)) throw new Error(`${name}: a reply of an unexpected kind`);
      return answer;
    },
    async share(order) {
      const answer = await ask(order);
      if (!("begun" in answer)) throw new Error(`${name}: a reply of an unexpected kind`);
      return answer;
    },
    async latencies(order) {
      const answer = await ask(order);
      if (!("latenciesMs" in answer)) throw new Error(`${name}: a reply of an unexpected kind`);
      return answer.latenciesMs;
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
