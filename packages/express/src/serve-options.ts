import type { Logger } from "@svc/context";
import {
  boolean,
  ConfigurationError,
  type Fault,
  integer,
  number,
  objectWith,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import type { StateListener } from "./runner.ts";

/** Options of {@link serve}. Durations in seconds. */
export interface ServeOptions {
  /** Address to listen on. Default `0.0.0.0`. */
  readonly host?: string | undefined;
  /** Port to listen on; 0 selects a free port. Default 8000. */
  readonly port?: number | undefined;
  /**
   * How long to accept requests after `/ready` answers 503. At least the period of the probe, times its failure threshold,
   * plus the time until the load balancer reacts. Default 5.
   */
  readonly drainDelaySeconds?: number | undefined;
  /** Time limit for a whole stop, including the drain delay; then connections are cut. Default 25. */
  readonly shutdownTimeoutSeconds?: number | undefined;
  /** Time limit for the stop hooks of one phase. Default 10. */
  readonly hookTimeoutSeconds?: number | undefined;
  /** Time until the first byte of an answer, else a 504 problem; 0 means no limit. Default 30. */
  readonly requestTimeoutSeconds?: number | undefined;
  /** Time for a client to send the headers of a request. Default 10. */
  readonly headersTimeoutSeconds?: number | undefined;
  /** Time for a client to send a whole request. Default 60. */
  readonly receiveTimeoutSeconds?: number | undefined;
  /** Time between two requests of a connection; longer than the idle timeout of the load balancer. Default 65. */
  readonly keepAliveTimeoutSeconds?: number | undefined;
  /** Time for a client to read the next part of an answer, else its connection is cut. Default 60. */
  readonly sendTimeoutSeconds?: number | undefined;
  /** The result of `health()`, which gets the state of the service. Default none. */
  readonly health?: StateListener | undefined;
  /** The logger. Default none. */
  readonly logger?: Logger | undefined;
  /** Whether signals and uncaught errors of the process stop the server. Default true. */
  readonly signals?: boolean | undefined;
  /** Whether an Express application is passed to {@link tune}; the answers stay the same. Default true. */
  readonly tune?: boolean | undefined;
}

/** The options with every default filled in. */
export interface ResolvedServeOptions {
  readonly host: string;
  readonly port: number;
  readonly drainDelaySeconds: number;
  readonly shutdownTimeoutSeconds: number;
  readonly hookTimeoutSeconds: number;
  readonly requestTimeoutSeconds: number;
  readonly headersTimeoutSeconds: number;
  readonly receiveTimeoutSeconds: number;
  readonly keepAliveTimeoutSeconds: number;
  readonly sendTimeoutSeconds: number;
  readonly health: StateListener | undefined;
  readonly logger: Logger | undefined;
  readonly signals: boolean;
  readonly tune: boolean;
}

/** @throws ConfigurationError */
export function resolveServeOptions(given: ServeOptions | undefined): ResolvedServeOptions {
  const seconds = number({ min: 0, max: 86_400 });
  const resolved = resolveOptions("serve()", given, {
    host: withDefault(string(), "0.0.0.0"),
    port: withDefault(integer({ min: 0, max: 65_535 }), 8000),
    drainDelaySeconds: withDefault(seconds, 5),
    shutdownTimeoutSeconds: withDefault(seconds, 25),
    hookTimeoutSeconds: withDefault(seconds, 10),
    requestTimeoutSeconds: withDefault(seconds, 30),
    headersTimeoutSeconds: withDefault(seconds, 10),
    receiveTimeoutSeconds: withDefault(seconds, 60),
    keepAliveTimeoutSeconds: withDefault(seconds, 65),
    sendTimeoutSeconds: withDefault(seconds, 60),
    health: optional(objectWith<StateListener>("what health() returned", "setState")),
    logger: optional(objectWith<Logger>("a logger", "info", "error", "fatal")),
    signals: withDefault(boolean(), true),
    tune: withDefault(boolean(), true),
  });
  const faults = faultsBetween(resolved);
  if (faults.length > 0) throw new ConfigurationError("serve()", faults);
  return resolved;
}

function faultsBetween(options: ResolvedServeOptions): readonly Fault[] {
  const { drainDelaySeconds, shutdownTimeoutSeconds, headersTimeoutSeconds, receiveTimeoutSeconds } = options;
  const faults: Fault[] = [];
  if (drainDelaySeconds >= shutdownTimeoutSeconds) {
    const message = `must be shorter than shutdownTimeoutSeconds (${shutdownTimeoutSeconds}); it is ${drainDelaySeconds}`;
    faults.push({ key: "drainDelaySeconds", message });
  }
  if (receiveTimeoutSeconds > 0 && headersTimeoutSeconds > receiveTimeoutSeconds) {
    const message = `must not be longer than receiveTimeoutSeconds (${receiveTimeoutSeconds}); it is ${headersTimeoutSeconds}`;
    faults.push({ key: "headersTimeoutSeconds", message });
  }
  return faults;
}
