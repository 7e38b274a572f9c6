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
  /** Port to listen on; 0 takes a free one. Default 8000. */
  readonly port?: number | undefined;
  /**
   * How long to go on serving after `/ready` has said 503. At least the period of the probe, times its failure
   * threshold, plus the time in which the news spreads. Default 5.
   */
  readonly drainDelaySeconds?: number | undefined;
  /** From the signal to the last resort, drain delay included; connections are cut then. Default 25. */
  readonly shutdownTimeoutSeconds?: number | undefined;
  /** For the stop hooks of one phase. Default 10. */
  readonly hookTimeoutSeconds?: number | undefined;
  /** Until the first byte of an answer, else a 504 problem; 0 waits for ever. Default 30. */
  readonly requestTimeoutSeconds?: number | undefined;
  /** For a client to send the head of a request. Default 10. */
  readonly headersTimeoutSeconds?: number | undefined;
  /** For a client to send a whole request. Default 60. */
  readonly receiveTimeoutSeconds?: number | undefined;
  /** Between two requests of a connection; longer than the idle time of whatever stands in front. Default 65. */
  readonly keepAliveTimeoutSeconds?: number | undefined;
  /** For a client to take the next part of an answer that waits for it, else its connection is cut. Default 60. */
  readonly sendTimeoutSeconds?: number | undefined;
  /** What `health()` returned: told when the service starts and stops serving. Default none. */
  readonly health?: StateListener | undefined;
  /** Default none: nothing is logged. */
  readonly logger?: Logger | undefined;
  /** Whether signals and uncaught errors of the process stop it. Default true. */
  readonly signals?: boolean | undefined;
  /** Whether an Express application is given to {@link tune}, which changes no answer. Default true. */
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
