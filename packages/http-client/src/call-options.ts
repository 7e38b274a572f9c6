import { kinds as k, unknownOption, wrongValue } from "@svc/options";
import { seconds } from "./options.ts";
import type { CallBody } from "./request-body.ts";
import type { CallHeaders } from "./request-headers.ts";

/** Options of one call. */
export interface CallOptions extends CallBody {
  /** Parameters that are added to the path. Default: none. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** Headers of this call. Default: none. */
  readonly headers?: CallHeaders | undefined;
  /** Aborts the call, which then rejects with the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Time limit of this call, in seconds. Default: the client's `totalTimeoutSeconds`. */
  readonly totalTimeoutSeconds?: number | undefined;
  /** Whether a status from 400 to 499 is thrown as an error. Default: the client's `throwOn4xx`. */
  readonly throwOn4xx?: boolean | undefined;
}

/** Rejects iterables such as `URLSearchParams`, `Headers` and `Map`: they have no own members and would be sent empty. */
const record: k.Kind<object> = {
  expects: "an object with a value for each name",
  accepts: (value): value is object =>
    typeof value === "object" && value !== null && !(Symbol.iterator in value),
  secret: true,
};

// The name of each option. A body is checked when it is read.
const optionKinds: Readonly<Record<keyof CallOptions, k.Kind<unknown> | undefined>> = {
  query: record,
  headers: record,
  json: undefined,
  body: undefined,
  signal: k.objectWith<AbortSignal>("an AbortSignal", "addEventListener", "throwIfAborted"),
  totalTimeoutSeconds: seconds,
  throwOn4xx: k.boolean(),
};

const parameter: k.Kind<unknown> = {
  expects: "a string, a number, true or false",
  accepts: (value): value is unknown => /^(?:string|number|boolean)$/.test(typeof value),
  secret: true,
};

/**
 * Checks the method and the options of a call.
 *
 * @throws TypeError for a method that is not in upper case, for options that are not an object, and for an option that is
 *   unknown or has a wrong value
 */
export function checkCall(method: string, options: CallOptions): void {
  if (typeof method !== "string" || !/^[A-Z][A-Z0-9-]*$/.test(method) || method === "CONNECT") {
    throw new TypeError('the method of a call must be in upper case, such as "GET", and not CONNECT');
  }
  if (!record.accepts(options)) throw new TypeError(`the options of a call ${wrongValue(record, options)}`);
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(optionKinds, name)) {
      throw new TypeError(`the call option ${name} ${unknownOption(name, Object.keys(optionKinds))}`);
    }
    const kind = optionKinds[name as keyof CallOptions];
    if (value !== undefined && kind?.accepts(value) === false)
      throw new TypeError(`the call option ${name} ${wrongValue(kind, value)}`);
  }
}

/**
 * Returns the path of a call with its parameters.
 *
 * @throws TypeError for a path that does not begin with one slash, or contains white space or a fragment, and for a
 *   parameter that is not a string, number or boolean
 */
export function pathOf(path: string, query: CallOptions["query"]): string {
  if (typeof path !== "string" || !/^\/(?!\/)[!-~]*$/.test(path) || path.includes("#")) {
    throw new TypeError("the path of a call must begin with one / and contain no white space and no #");
  }
  if (query === undefined) return path;
  const known = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (!parameter.accepts(value))
      throw new TypeError(`the query parameter ${name} ${wrongValue(parameter, value)}`);
    known.append(name, String(value));
  }
  if (known.size === 0) return path;
  return `${path}${path.includes("?") ? "&" : "?"}${String(known)}`;
}
