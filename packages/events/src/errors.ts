/** What an {@link EventError} is about. */
export type EventErrorCode =
  | "ERR_SVC_EVENT_ARGUMENT"
  | "ERR_SVC_EVENT_UNDELIVERABLE"
  | "ERR_SVC_EVENT_OUTBOX_NEEDED"
  | "ERR_SVC_EVENT_ENVELOPE"
  | "ERR_SVC_EVENT_BUS";

/**
 * `ERR_SVC_EVENT_ARGUMENT`: an event, an id or a number that is not taken; nothing was sent anywhere.
 * `ERR_SVC_EVENT_UNDELIVERABLE`: nobody would get the event: it has no subscriber here, and there is no bus (EVT-6).
 * `ERR_SVC_EVENT_OUTBOX_NEEDED`: a bus cannot take part in a transaction; an outbox can.
 * `ERR_SVC_EVENT_ENVELOPE`: what was received or read is no event; the message says which field.
 * `ERR_SVC_EVENT_BUS`: the bus did not take an event that was published without an outbox, or did not say in time that it has;
 * the cause says why.
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
