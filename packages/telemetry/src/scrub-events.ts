import { sqlStateOf } from "@svc/sql";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { allowedAttributes, cutText } from "./attributes.ts";
import { framesOf, MAX_STACK } from "./exception-event.ts";

type TimedEvent = ReadableSpan["events"][number];

/** The events that may be recorded of a span that another package made. */
export interface ScrubbedEvents {
  readonly events: TimedEvent[];
  /** SQLSTATE of an exception. */
  readonly sqlState: string | undefined;
  /** Number of attributes that were dropped. */
  readonly dropped: number;
}

/**
 * Returns the events of a span: exceptions with type, message and stack, others with known attributes only.
 *
 * @param isDatabase whether the span calls a database, whose messages may quote values
 */
export function scrubbedEvents({ events: given }: ReadableSpan, isDatabase: boolean): ScrubbedEvents {
  let dropped = 0;
  let sqlState: string | undefined;
  const events = given.map(({ name, time, attributes = {} }): TimedEvent => {
    const kept = allowedAttributes(attributes, () => undefined);
    if (name !== "exception") {
      dropped += Object.keys(attributes).length - Object.keys(kept).length;
      return { name: cutText(name), time, attributes: kept };
    }
    const state = stateOf(attributes, isDatabase);
    sqlState ??= state;
    const known = state === undefined ? {} : { "error.type": state };
    const exception = exceptionOf(attributes, isDatabase || state !== undefined);
    return { name, time, attributes: { ...exception, ...known } };
  });
  return { events, sqlState, dropped };
}

/** Returns the SQLSTATE of an exception. The SDK records the code of an error as its type; `pg` spans have only a message. */
function stateOf(attributes: Readonly<Record<string, unknown>>, isDatabase: boolean): string | undefined {
  const { "exception.type": type, "exception.message": message, "error.type": recorded } = attributes;
  const [, quoted] = (isDatabase && /\(code: (\w{5})\)$/.exec(textOf(message))) || [];
  return [recorded, type, quoted].map((code) => sqlStateOf({ code })).find((state) => state !== undefined);
}

function exceptionOf(
  attributes: Readonly<Record<string, unknown>>,
  isDatabase: boolean,
): Record<string, string> {
  const type = textOf(attributes["exception.type"]);
  const message = textOf(attributes["exception.message"]);
  const stack = textOf(attributes["exception.stacktrace"]);
  const recorded = {
    "exception.type": cutText(type === "" ? "Error" : type),
    "exception.message": isDatabase ? "" : cutText(message),
    "exception.stacktrace": cutText(isDatabase ? framesIn(stack, message) : stack, MAX_STACK),
  };
  return Object.fromEntries(Object.entries(recorded).filter(([, text]) => text !== ""));
}

/** Returns the frames of a stack; if the event has no message, its stack may begin with the first frame. */
function framesIn(stack: string, message: string): string {
  return framesOf(message === "" && stack.startsWith("    at ") ? `\n${stack}` : stack, message);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
