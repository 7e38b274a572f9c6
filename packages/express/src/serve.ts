import type { Logger } from "@svc/context";
import type { StopHook, StopPhase } from "@svc/plugin";
import type { RequestListener, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { safeLogger } from "@svc/resilience";
import { isExpressApp } from "./express-app.ts";
import { createHttpServer } from "./http-server.ts";
import { trackRequests } from "./in-flight.ts";
import { serveOptions, type ServeOptions } from "./serve-options.ts";
import { createRunner } from "./start-and-drain.ts";
import { handleSignals } from "./signals.ts";
import { createStopHooks } from "./stop-hooks.ts";
import { tune } from "./tune.ts";

/**
 * After the response, at most this many bytes of a body without Content-Length are read; equal to a service's default
 * `max_body_bytes`.
 */
const unreadBodyBytes = 2 * 1024 * 1024;

/** A server that is listening. */
export interface Serving extends AsyncDisposable {
  readonly server: Server;
  readonly address: AddressInfo;
  /**
   * Adds a hook that runs when the service stops. Phases run in order; the hooks in one phase run in parallel.
   *
   * @throws ConfigurationError for an unknown phase, and for a hook that is not a function
   */
  readonly onStop: (phase: StopPhase, hook: StopHook) => void;
  /**
   * Stops in the order described in the README. Resolves with 0, or with 1 if connections were cut at the time limit.
   */
  stop(): Promise<number>;
}

/**
 * Runs a server around an existing application: deadlines for slow clients, problem documents for requests that never
 * reach the application, a 504 for slow handlers, and a graceful shutdown. Tunes an Express application.
 *
 * @throws ConfigurationError for an invalid option; the `listen` error when the port is in use
 */
export async function serve(app: RequestListener, options?: ServeOptions): Promise<Serving> {
  const resolved = serveOptions.resolve(options);
  // A logger error must not interrupt a stop or a signal handler.
  const log = safeLogger(resolved.logger);
  const logger = (): Logger | undefined => log;
  const inFlight = trackRequests(app, {
    requestTimeoutMs: resolved.requestTimeoutSeconds * 1000,
    maxBodyBytes: unreadBodyBytes,
  });
  const classes = resolved.tune && isExpressApp(app) ? tune(app) : undefined;
  const server = createHttpServer(inFlight, resolved, log, classes);
  const hooks = createStopHooks(resolved.hookTimeoutSeconds * 1000, logger);
  const runner = createRunner({
    server,
    inFlight,
    hooks,
    health: resolved.health,
    logger,
    host: resolved.host,
    port: resolved.port,
    drainDelayMs: resolved.drainDelaySeconds * 1000,
    shutdownTimeoutMs: resolved.shutdownTimeoutSeconds * 1000,
  });
  const untie = resolved.signals ? handleSignals(runner, logger) : undefined;
  try {
    await runner.start();
  } catch (error) {
    inFlight.stop();
    untie?.();
    throw error;
  }
  const address = runner.address;
  if (address === undefined) throw new Error("the server started but is not listening on any address");
  const stop = async (): Promise<number> => {
    const code = await runner.stop();
    untie?.();
    return code;
  };
  return {
    server,
    address,
    onStop: hooks.add,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}
