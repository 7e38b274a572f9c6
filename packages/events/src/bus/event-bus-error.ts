import type { BusMessage } from "../event-bus.ts";

/** The codes of {@link EventBusError}. */
export type EventBusErrorCode =
  /** The broker is unavailable, timed out or temporarily cannot serve the request. Retry. */
  | "ERR_SVC_EVENT_BUS_UNAVAILABLE"
  /** The broker rejects the request permanently; change its settings or those of the bus. */
  | "ERR_SVC_EVENT_BUS_REFUSED"
  /** The message, topic or group is invalid for every broker of this type. */
  | "ERR_SVC_EVENT_BUS_MESSAGE"
  /** The bus was closed. */
  | "ERR_SVC_EVENT_BUS_CLOSED";

/** Reports why a bus operation failed. Never contains an address, a password or a body. */
export class EventBusError extends Error {
  override readonly name = "EventBusError";
  readonly code: EventBusErrorCode;
  /** Whether retrying the same call is useless. */
  readonly permanent: boolean;
  /** The id of the rejected message, if a single message caused the error. */
  readonly messageId: string | undefined;

  /**
   * @param code the type of failure
   * @param message what happened, without secrets
   * @param about the message that caused the failure
   */
  constructor(code: EventBusErrorCode, message: string, about?: Pick<BusMessage, "id">) {
    super(message);
    this.code = code;
    this.permanent = code === "ERR_SVC_EVENT_BUS_MESSAGE";
    this.messageId = about?.id;
  }
}

/** Returns the error for a broker that is currently unavailable. */
export function unavailable(broker: string, why: string): EventBusError {
  return new EventBusError("ERR_SVC_EVENT_BUS_UNAVAILABLE", `${broker} is not available: ${why}`);
}

/** Returns the error for a request that the broker rejects permanently. */
export function refused(broker: string, why: string): EventBusError {
  return new EventBusError("ERR_SVC_EVENT_BUS_REFUSED", `${broker} rejected the call: ${why}`);
}

/** Returns the error for a call after `close()`. */
export function closedBus(broker: string): EventBusError {
  return new EventBusError("ERR_SVC_EVENT_BUS_CLOSED", `the ${broker} bus was closed`);
}
