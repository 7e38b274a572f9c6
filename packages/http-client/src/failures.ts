import { badGateway, gatewayTimeout, type ProblemError, serviceUnavailable } from "@svc/problem";

/**
 * The reason why a call failed. `unavailable`: the upstream did not respond, or sent 502 or 503. `timeout`: it did not
 * respond in time, or sent 504. `invalid`: its response cannot be used. `refused`: it sent a 4xx, with `throwOn4xx`.
 */
export type FailureKind = "unavailable" | "timeout" | "invalid" | "refused";

interface UpstreamErrorOptions {
  readonly status?: number | undefined;
  readonly cause?: unknown;
  readonly fault?: "connection" | "response" | "limit" | undefined;
}

/** The cause of a failed call, for logs; clients never see it. */
export class UpstreamError extends Error {
  override readonly name = "UpstreamError";
  readonly kind: FailureKind;
  /** The status of the response; undefined without one. */
  readonly status: number | undefined;
  /** The code of the error behind it, such as `ECONNREFUSED`. */
  readonly code: string | undefined;
  /**
   * The part that failed: the connection, so that a retry may succeed; a response that is not HTTP; or a limit of the
   * client.
   */
  readonly fault: "connection" | "response" | "limit";

  /** @param message states what happened, and contains nothing that the upstream has sent */
  constructor(
    kind: FailureKind,
    message: string,
    { status, cause, fault = "limit" }: UpstreamErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.status = status;
    this.code = codeOf(cause);
    this.fault = fault;
  }
}

/** Returns the error for a call that is rejected or aborted because the client is stopped. */
export function stopped(): UpstreamError {
  return new UpstreamError("unavailable", "the client is stopped");
}

/** Returns the `code` of an error; undefined without one. */
export function codeOf(error: unknown): string | undefined {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === "string" ? code : undefined;
}

/** Returns the error for the caller. Its text names the service, and contains nothing that the service has sent. */
export function problemOf(name: string, cause: UpstreamError, retryAfterMs: number): ProblemError {
  switch (cause.kind) {
    case "timeout":
      return gatewayTimeout(`the service '${name}' did not answer in time`, {
        code: "ERR_SVC_UPSTREAM_TIMEOUT",
        cause,
      });
    case "unavailable":
      return serviceUnavailable(`the service '${name}' is not answering`, {
        code: "ERR_SVC_UPSTREAM_UNAVAILABLE",
        retryAfterSeconds: retryAfterMs / 1000,
        cause,
      });
    default:
      return badGateway(`the service '${name}' sent an invalid response`, {
        code: cause.kind === "refused" ? "ERR_SVC_UPSTREAM_REFUSED" : "ERR_SVC_UPSTREAM_INVALID",
        cause,
      });
  }
}
