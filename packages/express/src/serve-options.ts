import type { Logger } from "@svc/context";
import { defineOptions, fault, kinds as k, type OptionsOf } from "@svc/options";
import type { StateListener } from "./start-and-drain.ts";

const seconds = k.number({ min: 0, max: 86_400 });

export const serveOptions = defineOptions("serve()", {
  /** Address to listen on. Default `0.0.0.0`. */
  host: { kind: k.withDefault(k.string(), "0.0.0.0") },
  /** Port to listen on; 0 selects a free port. Default 8000. */
  port: { kind: k.withDefault(k.integer({ min: 0, max: 65_535 }), 8000) },
  /**
   * Seconds during which requests are still accepted after `/ready` reports 503. At least the probe's period times its
   * failure threshold, plus the time that the load balancer takes to react. Default 5.
   */
  drainDelaySeconds: { kind: k.withDefault(seconds, 5) },
  /**
   * Time limit in seconds for the shutdown, including the drain delay; connections still open then are cut. Default 25.
   */
  shutdownTimeoutSeconds: { kind: k.withDefault(seconds, 25) },
  /** Time limit for the stop hooks in one phase, in seconds. Default 10. */
  hookTimeoutSeconds: { kind: k.withDefault(seconds, 10) },
  /** Seconds until the first byte of a response; after that a 504 problem is sent. 0 means no limit. Default 30. */
  requestTimeoutSeconds: { kind: k.withDefault(seconds, 30) },
  /** Seconds in which a client must send the headers of a request. Default 10. */
  headersTimeoutSeconds: { kind: k.withDefault(seconds, 10) },
  /** Seconds in which a client must send a whole request. Default 60. */
  receiveTimeoutSeconds: { kind: k.withDefault(seconds, 60) },
  /** Seconds between two requests on a connection; must exceed the load balancer's idle timeout. Default 65. */
  keepAliveTimeoutSeconds: { kind: k.withDefault(seconds, 65) },
  /**
   * Seconds in which a client must read the next chunk of a response, or its connection is cut; 0 means no limit.
   * Default 60.
   */
  sendTimeoutSeconds: { kind: k.withDefault(seconds, 60) },
  /** The result of `health()`, which receives the service's state. Default none. */
  health: { kind: k.optional(k.objectWith<StateListener>("the object returned by health()", "setState")) },
  /** The logger. Without a logger, an uncaught error is written to standard error. Default none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "info", "error", "fatal")) },
  /** Whether signals and uncaught errors in the process stop the server. Default true. */
  signals: { kind: k.withDefault(k.boolean(), true) },
  /** Whether to pass an Express application to {@link tune}, which does not change its responses. Default true. */
  tune: { kind: k.withDefault(k.boolean(), true) },
}).withCheck(function* (options) {
  const { drainDelaySeconds: drain, shutdownTimeoutSeconds: stop } = options;
  if (drain >= stop)
    yield fault("drainDelaySeconds", `must be shorter than shutdownTimeoutSeconds (${stop}); it is ${drain}`);
  const { headersTimeoutSeconds: headers, receiveTimeoutSeconds: whole } = options;
  if (whole > 0 && headers > whole) {
    const message = `must not be longer than receiveTimeoutSeconds (${whole}); it is ${headers}`;
    yield fault("headersTimeoutSeconds", message);
  }
});

/** Options of {@link serve}. Durations are in seconds. */
export type ServeOptions = OptionsOf<typeof serveOptions>;
