import type { Logger } from "@svc/context";
import { answerRefusal } from "@svc/json-body";
import { inspect } from "node:util";
import type { Runner } from "./runner.ts";

// Windows has no SIGTERM: there it is Ctrl-C, Ctrl-Break and the closing of the console.
const stopSignals = process.platform === "win32" ? ["SIGINT", "SIGBREAK", "SIGHUP"] : ["SIGTERM", "SIGINT"];

/** How long a service that has met an uncaught error may take to stop, in milliseconds. */
const fatalTimeoutMs = 5_000;

// Of several services of one process each gets the signal; the last to have stopped ends it, with the worst code.
const tied = new Set<Runner>();
let worstCode = 0;

function finish(runner: Runner, code: number): void {
  worstCode = Math.max(worstCode, code);
  tied.delete(runner);
  if (tied.size === 0) process.exit(worstCode);
}

/** How long jobs may take to be given back once a second signal has come, in milliseconds. */
const hurryMs = 2_000;

const hurried = new Map<Runner, Promise<void>>();

/** Ends the process as soon as every service of it has given back what ran beside its server. */
function exitHurried(runner: Runner): void {
  worstCode = 1;
  hurried.set(runner, runner.hurry());
  setTimeout(() => process.exit(1), hurryMs);
  // The other services are told of the same signal in this turn.
  setImmediate(() => void Promise.all(hurried.values()).finally(() => process.exit(1)));
}

/**
 * Ties a runner to the process: the first signal stops it in order and exits with 0, a second one has jobs given back
 * and exits with 1 at once, a third one does not even wait for that; an uncaught error or rejection logs one fatal
 * line (without a logger it goes to standard error, as Node would have it), stops and exits with 1. A process manager
 * that cannot send signals may send the message `shutdown`.
 *
 * @returns a function that unties it
 */
export function handleSignals(runner: Runner, logger: () => Logger | undefined): () => void {
  let signalled = false;
  let failing = false;

  function onSignal(signal: string): void {
    if (signalled) {
      if (hurried.has(runner)) process.exit(1);
      logger()?.error({ signal }, "second signal: exiting at once");
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
    // Nothing is known about the state of the process, so no new request should be served from it.
    void runner.stop({ drainDelayMs: 0, timeoutMs: fatalTimeoutMs }).finally(() => finish(runner, 1));
    // A stop that is already under way may have more time than this process deserves.
    setTimeout(() => process.exit(1), fatalTimeoutMs + 1_000).unref();
  }

  function onUncaught(err: unknown, origin: string): void {
    // A client that sends a wrong content type must not stop the service, also where a callback reads the body.
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
