import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { demoFolder } from "@svc/dev-services";

/** A temporary checkout folder; its demo data are removed with it. */
export interface Checkout extends Disposable {
  readonly path: string;
  /** The folder of its demo data. */
  readonly data: string;
}

export function temporaryCheckout(): Checkout {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "svc-checkout-")));
  const data = demoFolder(path);
  return {
    path,
    data,
    [Symbol.dispose]() {
      rmSync(data, { recursive: true, force: true });
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** The exit code and the output of a process. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A start command in its own process group, as in a terminal. Leaving the block kills it. */
export interface DemoProcess extends AsyncDisposable {
  readonly ended: Promise<Ended>;
  /** Resolves with the address that the command prints; rejects if the process exits first. */
  readonly opened: Promise<string>;
  stderr(): string;
  /** Sends SIGINT to the group, as Ctrl-C does. */
  interrupt(): void;
}

const supportScript = fileURLToPath(new URL("./start-demo.ts", import.meta.url));

/**
 * Runs the demo for a checkout, with only the environment variables that Node needs.
 *
 * @param endSignal the signal with which leaving the block ends the process; a process that has started others outside of its
 *   group must end them
 */
export function demoProcess(
  checkout: Checkout,
  env: Readonly<Record<string, string>>,
  script = supportScript,
  endSignal: NodeJS.Signals = "SIGKILL",
): DemoProcess {
  const child = spawn(process.execPath, ["--conditions=@svc/source", script], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      CHECKOUT: checkout.path,
      ...recorder(),
      ...testRun(),
      ...env,
    },
  });
  const out = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (out.stdout += chunk.toString()));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...out }));
  const opened = new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => {
      out.stderr += chunk.toString();
      const url = /Open (http:\S+)\/ .*\n[^]*\n$/.exec(out.stderr)?.[1];
      if (url !== undefined) resolve(url);
    });
    void ended.then(({ code, stderr }) => reject(new Error(`ended with ${code}: ${stderr}`)));
  });
  opened.catch(() => undefined);
  return {
    ended,
    opened,
    stderr: () => out.stderr,
    interrupt: () => signalGroup(child, "SIGINT"),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) signalGroup(child, endSignal);
      await ended;
      await untilUnused(checkout.data);
    },
  };
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) process.kill(-pid, signal);
}

/** Returns the command lines of all processes that contain a string. */
export function processesWith(text: string): string[] {
  return commandLines().filter((line) => line.includes(text));
}

/**
 * Returns the command lines of all processes: on Linux from `/proc`, because a minimal Debian has no `ps`; elsewhere
 * from `ps`.
 */
function commandLines(): readonly string[] {
  if (process.platform !== "linux")
    return execFileSync("ps", ["-ww", "-A", "-o", "args="], { encoding: "utf8", maxBuffer: 1e8 }).split("\n");
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      return [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim()];
    } catch {
      return []; // The process has just ended.
    }
  });
}

/** The variables with which `npm run test:prism` records the requests of a process. */
function recorder(): NodeJS.ProcessEnv {
  const { RECORD_EXCHANGES, NODE_OPTIONS } = process.env;
  return RECORD_EXCHANGES === undefined ? {} : { RECORD_EXCHANGES, NODE_OPTIONS };
}

/** Returns the variable that makes demo databases copy one shared data directory. Only `npm test` sets it. */
function testRun(): NodeJS.ProcessEnv {
  const { SVC_TEST_RUN } = process.env;
  return SVC_TEST_RUN === undefined ? {} : { SVC_TEST_RUN };
}

async function untilUnused(folder: string): Promise<void> {
  for (let i = 0; processesWith(folder).length > 0; i++) {
    if (i > 200) throw new Error(`still running: ${processesWith(folder).join("\n")}`);
    await sleep(50);
  }
}

/** Returns whether a server listens on a port of this machine. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => resolve(false));
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/** Offsets of the ports of the demo's database and Redis from the port of the service. */
export const pair: readonly number[] = [1, 3];
/** Offsets from the port of the gateway: the expenses service, its database, its Redis, and the receipts service. */
export const blocks: readonly number[] = [10, 11, 13, 20];
