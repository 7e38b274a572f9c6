import { currentContext, type OpenSpan } from "@svc/context";
import { kinds as k, wrongValue } from "@svc/options";
import { propagationHeaders } from "@svc/request-id";

/** Headers of a call. A header whose value is undefined is omitted. */
export type CallHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Connection-specific headers, which only the client may set. */
const OF_THE_CONNECTION = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Values may be secrets, so error messages omit them. */
const values = k.secret(k.either(k.string({ allowEmpty: true }), k.listOf(k.string({ allowEmpty: true }))));
/** Headers whose values always come from the current request (HTTP-1). */
export const CORRELATION = new Set(["x-request-id", "traceparent", "tracestate"]);

/**
 * Returns the headers of a call: the caller's headers, and request id and trace of the current request or job (HTTP-1,
 * TRACE-19).
 *
 * @param forwardAuthorization whether to send the bearer token of the current request (HTTP-3); a header that the caller
 *   passes takes precedence
 * @throws TypeError for the tenant's header (HTTP-2), for connection-specific headers (RFC 9110, 7.6.1), and for a value
 *   that is not a string or a list of strings
 */
export function requestHeaders(
  given: CallHeaders | undefined,
  span: OpenSpan | undefined,
  forwardAuthorization: boolean,
): Record<string, string | string[]> {
  const context = currentContext();
  const headers: Record<string, string | string[]> = propagationHeaders(context, span?.trace);
  let hasAuthorization = false;
  for (const name in given) {
    const value = given[name];
    const known = name.toLowerCase();
    refuse(known);
    if (value === undefined || CORRELATION.has(known)) continue;
    if (!values.accepts(value)) throw new TypeError(`the header ${name} ${wrongValue(values, value)}`);
    hasAuthorization ||= known === "authorization";
    headers[name] = typeof value === "string" ? value : [...value];
  }
  const bearer = forwardAuthorization && !hasAuthorization ? context?.bearer : undefined;
  if (bearer !== undefined) headers["Authorization"] = bearer;
  return headers;
}

/** @throws TypeError for a header that no call may carry; the name is in lower case */
export function refuse(name: string): void {
  if (name === "x-tenant-id") {
    throw new TypeError(
      "X-Tenant-ID is never sent to another service, which takes the tenant from the token",
    );
  }
  if (OF_THE_CONNECTION.has(name)) throw new TypeError(`the header ${name} is set by the client`);
}
