import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
import { errors } from "@nats-io/transport-node";
import { EventBusError, refused, unavailable } from "../bus/event-bus-error.ts";

export const BROKER = "NATS";

const LOGIN = "the user name or the password is wrong";

/** Returns the error for a call without a connection. `word` describes the last failed attempt. */
export function notConnected(word: string | undefined): EventBusError {
  return word === LOGIN ? refused(BROKER, word) : unavailable(BROKER, word ?? "no connection");
}

/** Returns a short reason for a failed connection. Never returns the error's message, which may contain the address. */
export function connectionWord(error: unknown): string {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth++) {
    if (each instanceof errors.AuthorizationError || each instanceof errors.UserAuthenticationExpiredError)
      return LOGIN;
    if (each instanceof errors.TimeoutError) return "no answer in time";
    const { code } = each as NodeJS.ErrnoException;
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,50}$/.test(code)) return code;
    if (/^connection refused$/i.test(each.message)) return "ECONNREFUSED";
  }
  return "the connection was lost";
}

/** Returns whether the server reported that the stream does not exist. */
export function isNoStream(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
}

/** Returns whether the server reported that the consumer does not exist. */
export function isNoConsumer(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound;
}

/** Returns whether no stream accepted the message: the stream is missing, or JetStream is not enabled. */
export function hasNoStream(error: unknown): boolean {
  const answer = error instanceof Error && error.cause instanceof errors.RequestError ? error.cause : error;
  return answer instanceof errors.RequestError && answer.isNoResponders();
}

const MESSAGE_TOO_LARGE = 10054;

/** Converts a client error into an `EventBusError` for the caller. */
export function explained(error: unknown): EventBusError {
  if (error instanceof JetStreamApiError) {
    const { code, status, message } = error;
    if (code === MESSAGE_TOO_LARGE)
      return new EventBusError("ERR_SVC_EVENT_BUS_MESSAGE", "the message is larger than the stream accepts");
    const text = `${message} (${code})`;
    return status >= 500 ? unavailable(BROKER, text) : refused(BROKER, text);
  }
  if (hasNoStream(error))
    return refused(BROKER, "JetStream is not enabled, or no stream accepts the subject");
  if (error instanceof Error && error.cause instanceof JetStreamApiError) return explained(error.cause);
  if (error instanceof errors.PermissionViolationError)
    return refused(BROKER, `the user has no permission (${error.operation} on ${error.subject})`);
  return notConnected(connectionWord(error));
}
