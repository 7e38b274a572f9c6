/** The codes of {@link EventError}. */
export type EventErrorCode =
  | "ERR_SVC_EVENT_ARGUMENT"
  | "ERR_SVC_EVENT_UNDELIVERABLE"
  | "ERR_SVC_EVENT_OUTBOX_NEEDED"
  | "ERR_SVC_EVENT_ENVELOPE"
  | "ERR_SVC_EVENT_BUS";

/**
 * `ERR_SVC_EVENT_ARGUMENT`: an event, an id or a number is invalid; nothing was sent.
 * `ERR_SVC_EVENT_UNDELIVERABLE`: the event has no subscriber here and no bus is configured (EVT-6).
 * `ERR_SVC_EVENT_OUTBOX_NEEDED`: a bus cannot take part in a transaction; configure an outbox.
 * `ERR_SVC_EVENT_ENVELOPE`: a received or stored value is not a valid event; the message names the field.
 * `ERR_SVC_EVENT_BUS`: the bus failed or timed out while publishing without an outbox; `cause` has the reason.
 */
export class EventError extends Error {
  override readonly name = "EventError";
  readonly code: EventErrorCode;

  constructor(code: EventErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function refused(message: string, cause?: unknown): EventError {
  return new EventError("ERR_SVC_EVENT_ARGUMENT", message, cause === undefined ? undefined : { cause });
}
