import type { BusMessage } from "../event-bus.ts";

/** What the codes of {@link EventBusError} mean. */
export type EventBusErrorCode =
  /** The broker did not take it in time, is away, or cannot do it now. Try again. */
  | "ERR_SVC_EVENT_BUS_UNAVAILABLE"
  /** The broker refuses for good: its settings or those of the bus have to change. */
  | "ERR_SVC_EVENT_BUS_REFUSED"
  /** A message, topic or group that no broker of this kind can take. */
  | "ERR_SVC_EVENT_BUS_MESSAGE"
  /** The bus was closed. */
  | "ERR_SVC_EVENT_BUS_CLOSED";

/** Why a bus did not do what it was asked for. It never holds an address, a password or a body. */
export class EventBusError extends Error {
  override readonly name = "EventBusError";
  readonly code: EventBusErrorCode;
  /** Whether trying the same again is of no use. */
  readonly permanent: boolean;
  /** The id of the message at fault, where there is one. */
  readonly messageId: string | undefined;

  /**
   * @param code what kind of failure it is
   * @param message says what happened, without anything secret
   * @param about the message at fault
   */
  constructor(code: EventBusErrorCode, message: string, about?: Pick<BusMessage, "id">) {
    super(message);
    this.code = code;
    this.permanent = code === "ERR_SVC_EVENT_BUS_MESSAGE";
    this.messageId = about?.id;
  }
}

/** The broker is of no use at the moment. */
export function unavailable(broker: string, why: string): EventBusError {
  return new EventBusError("ERR_SVC_EVENT_BUS_UNAVAILABLE", `${broker} is not available: ${why}`);
}

/** The broker will refuse this again. */
export function refused(broker: string, why: string): EventBusError {
  return new EventBusError("ERR_SVC_EVENT_BUS_REFUSED", `${broker} refuses: ${why}`);
}

/** The bus was closed. */
export function closedBus(broker: string): EventBusError {
  return new EventBusError("ERR_SVC_EVENT_BUS_CLOSED", `the bus of ${broker} was closed`);
}
