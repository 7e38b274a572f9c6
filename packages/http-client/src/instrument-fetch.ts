import { currentContext, inSpan, type OpenSpan, type SpanHook } from "@svc/context";
import { propagationHeaders } from "@svc/request-id";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { CORRELATION, refuse } from "./request-headers.ts";

const isOrigin = (value: unknown): value is string =>
  typeof value === "string" && URL.canParse(value) && new URL(value).origin === value;

const instrumentOptions = defineOptions("instrumentFetch()", {
  /** Name of the called service, in spans. Required. */
  name: { kind: k.checkName },
  /** Origins, such as `http://127.0.0.1:8010`, whose calls carry the headers; other calls are unchanged. Required. */
  origins: {
    kind: k.listOf({ expects: "an origin such as https://billing.internal", accepts: isOrigin }),
  },
  /** Whether a call carries the bearer token of the current request (HTTP-3). Default: false. */
  forwardAuthorization: { kind: k.withDefault(k.boolean(), false) },
  /** Creates a client span for each call (TRACE-9). Default: no spans. */
  span: { kind: k.optional(k.func<SpanHook>()) },
});

/** Options of {@link instrumentFetch}. */
export type InstrumentFetchOptions = OptionsOf<typeof instrumentOptions>;

/**
 * Returns a `fetch` whose calls of the given origins carry request id and trace of the current request or job (HTTP-1,
 * TRACE-19). It adds no time limits and no retries; use `createClient()` for these.
 *
 * @throws ConfigurationError for unknown and invalid options
 */
export function instrumentFetch(
  fetch: typeof globalThis.fetch,
  options: InstrumentFetchOptions,
): typeof fetch {
  const { name, origins, forwardAuthorization, span: hook } = instrumentOptions.resolve(options);
  const known = new Set(origins);

  /** @throws TypeError for a call with the tenant's header (HTTP-2) */
  return async function instrumentedFetch(...args) {
    const [input] = args;
    // Do not create a Request for a call that is passed on, because a Request consumes the body of its input.
    const target = URL.parse(typeof input === "object" && "url" in input ? input.url : String(input));
    if (target === null || !known.has(target.origin)) return fetch(...args);
    const request = new Request(...args);
    if (request.headers.has("x-tenant-id")) refuse("x-tenant-id");
    const send = async (span?: OpenSpan): Promise<Response> => {
      const context = currentContext();
      const correlation = propagationHeaders(context, span?.trace);
      // Values of the caller may belong to another request.
      for (const header of CORRELATION) request.headers.delete(header);
      for (const header in correlation) request.headers.set(header, correlation[header] ?? "");
      const bearer = forwardAuthorization ? context?.bearer : undefined;
      if (bearer !== undefined && !request.headers.has("authorization"))
        request.headers.set("authorization", bearer);
      const response = await fetch(request);
      span?.set({ "http.response.status_code": response.status });
      return response;
    };
    if (hook === undefined) return send();
    const attributes = { "jfast.upstream": name, "server.address": target.hostname };
    return inSpan(hook, `${request.method} ${name}`, "client", attributes, send);
  };
}
