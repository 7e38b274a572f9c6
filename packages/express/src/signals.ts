import type { Logger } from "@svc/context";
import { answerRefusal } from "@svc/json-body";
import { inspect } from "node:util";
import type { Runner } from "./start-and-drain.ts";

// Windows has no SIGTERM; use Ctrl-C, Ctrl-Break and closing the console instead.
const stopSignals = process.platform === "win32" ? ["SIGINT", "SIGBREAK", "SIGHUP"] : ["SIGTERM", "SIGINT"];

/** Time limit for a stop after an uncaught error, in milliseconds. */
const fatalTimeoutMs = 5_000;

// Every service in the process receives the signal. The last one to stop exits the process with the worst exit code.
const tied = new Set<Runner>();
let worstCode = 0;

function finish(runner: Runner, code: number): void {
  worstCode = Math.max(worstCode, code);
  tied.delete(runner);
  if (tied.size === 0) process.exit(worstCode);
}

/** Time limit for releasing jobs after a second signal, in milliseconds. */
const hurryMs = 2_000;

const hurried = new Map<Runner, Promise<void>>();

/** Exits the process as soon as all its services have released their background work. */
function exitHurried(runner: Runner): void {
  worstCode = 1;
  hurried.set(runner, runner.hurry());
  setTimeout(() => process.exit(1), hurryMs);
  // The other services receive the same signal in this event-loop turn.
  setImmediate(() => void Promise.all(hurried.values()).finally(() => process.exit(1)));
}

/**
 * Connects a runner to the process's signals. The first signal stops the service in order and exits with 0, or with 1 if
 * connections were cut. The second releases jobs, for at most two seconds, and exits with 1. The third exits with 1
 * immediately. An uncaught error or rejection logs one fatal record (or writes to standard error if there is no logger),
 * stops the service and exits with 1. A process manager that cannot send signals may send the message `shutdown`.
 *
 * @returns a function that disconnects the runner
 */
export function handleSignals(runner: Runner, logger: () => Logger | undefined): () => void {
  let signalled = false;
  let failing = false;

  function onSignal(signal: string): void {
    if (signalled) {
      if (hurried.has(runner)) process.exit(1);
      logger()?.error({ signal }, "second signal: exiting immediately");
      exitHurried(runner);
      return;
    }
    signalled = true;
    logger()?.info({ signal }, "stopping on a signal");
    void runner.stop().then((code) => finish(runner, code));
  }

  function onMessage(message: unknown): void {
    if (message === "shutdown") onSignal("shutdown message");
  }

  function onFatal(err: unknown, origin: string): void {
    if (failing) return;
    failing = true;
    const log = logger();
    if (log === undefined) process.stderr.write(`${inspect(err)}\n`);
    else log.fatal({ err, origin }, "uncaught error: stopping");
    // The state of the process is unknown, so it must not accept new requests.
    void runner.stop({ drainDelayMs: 0, timeoutMs: fatalTimeoutMs }).finally(() => finish(runner, 1));
    // A stop that is already running may have a longer time limit.
    setTimeout(() => process.exit(1), fatalTimeoutMs + 1_000).unref();
  }

  function onUncaught(err: unknown, origin: string): void {
    // Reading `req.body` throws for a wrong content type. In a callback that error is uncaught: respond with a 415
    // instead of stopping the service.
    if (!answerRefusal(err)) onFatal(err, origin);
  }

  function onRejection(reason: unknown): void {
    onUncaught(reason, "unhandledRejection");
  }

  tied.add(runner);
  for (const signal of stopSignals) process.on(signal, onSignal);
  process.on("message", onMessage);
  process.on("uncaughtException", onUncaught);
  process.on("unhandledRejection", onRejection);
  return () => {
    tied.delete(runner);
    for (const signal of stopSignals) process.off(signal, onSignal);
    process.off("message", onMessage);
    process.off("uncaughtException", onUncaught);
    process.off("unhandledRejection", onRejection);
  };
}
