import {
  badGateway,
  badRequest,
  gatewayTimeout,
  payloadTooLarge,
  ProblemError,
  type ReadyOptions,
  serviceUnavailable,
} from "@svc/problem";
import type { IncomingMessage } from "node:http";
import { hasBody } from "./request-body.ts";
import type { Route } from "./routes.ts";

/**
 * The kind of a failed request to a target. `refused`: undici does not send the request. `stopped`: the gateway was stopped.
 * `timeout`: the target did not respond in time. `lost`: it closed the connection. `invalid`: its response is not valid.
 */
export type FailureKind = "refused" | "stopped" | "timeout" | "lost" | "invalid";

/** Returns the kind of an error of undici. */
export function failureKind(error: Error): FailureKind {
  switch ((error as { readonly code?: unknown }).code) {
    case "UND_ERR_INVALID_ARG":
    case "UND_ERR_NOT_SUPPORTED":
    case "UND_ERR_REQ_CONTENT_LENGTH_MISMATCH":
      return "refused";
    case "UND_ERR_DESTROYED":
    case "UND_ERR_CLOSED":
      return "stopped";
    case "UND_ERR_HEADERS_TIMEOUT":
    case "ETIMEDOUT":
      return "timeout";
    case "UND_ERR_SOCKET":
    case "ECONNRESET":
    case "EPIPE":
      return "lost";
    default:
      return "invalid";
  }
}

/**
 * Returns the problem for a request that failed after its connection was established. Its text contains no address, but its
 * cause may.
 */
export function failureProblem(req: IncomingMessage, route: Route, cause: Error): ProblemError {
  const { prefix } = route;
  const options = { cause, headers: closingHeaders(req) };
  switch (failureKind(cause)) {
    case "refused":
      return badRequest("the gateway cannot pass on this request", options);
    case "stopped":
      return notAnswering(req, route, cause);
    case "timeout":
      return gatewayTimeout(`the service behind ${prefix} did not answer in time`, options);
    default:
      return badGateway(`the service behind ${prefix} sent an invalid response`, options);
  }
}

/** Returns the problem for a request that no target can receive. */
export function notAnswering(req: IncomingMessage, { prefix, targets }: Route, cause?: Error): ProblemError {
  return serviceUnavailable(`the service behind ${prefix} is not answering`, {
    retryAfterSeconds: targets.retryAfterSeconds,
    headers: closingHeaders(req),
    cause,
  });
}

/** Returns the problem for a request body that exceeds the route's limit. */
export function tooLarge({ maxBodyBytes }: Route): ProblemError {
  return payloadTooLarge(`the request body is larger than ${maxBodyBytes} bytes`, {
    headers: { Connection: "close" },
  });
}

/** Returns the problem for a client that stops sending its body. */
export function requestTimedOut(): ProblemError {
  return new ProblemError(408, "the request did not arrive in time", { headers: { Connection: "close" } });
}

/** Returns the problem for a request target that could leave the route's prefix. */
export function unsafePath(): ProblemError {
  return badRequest(
    "the path has dot segments, encoded slashes or another form that the gateway does not pass on",
  );
}

// Close the connection: the rest of the body, which may be endless, would delay the next request on it.
function closingHeaders(req: IncomingMessage): NonNullable<ReadyOptions["headers"]> {
  return req.complete || !hasBody(req) ? {} : { Connection: "close" };
}
