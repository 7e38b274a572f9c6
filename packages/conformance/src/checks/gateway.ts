import type { IncomingHttpHeaders } from "node:http";
import { check, type Check, given, type Need } from "../check.ts";
import { grant } from "../grant.ts";
import type { HttpClient } from "../http-client.ts";
import { type Kit, until } from "../kit.ts";
import type { ReceivedSpan } from "../otlp/index.ts";
import { requestOf, withExtra } from "../requests.ts";
import { show } from "../show.ts";
import { must, notApplicable } from "../verdict.ts";
import { whereOf, withoutExport } from "./export-state.ts";
import { newTraceId, traceparent } from "./trace-context.ts";
import { exportPatienceMs } from "./traced-calls.ts";

const needs: readonly Need[] = ["gateway", "upstream", "probe:gateway"];
const notPassedOn = "the service behind the gateway received no request";

interface PassedOn {
  /** The trace context of the client. */
  readonly traceId: string;
  readonly sent: string;
  /** The headers that the service behind the gateway received; undefined if it received no request. */
  readonly received: IncomingHttpHeaders | undefined;
}

/** Sends a request with a trace context through the gateway. */
function passedOn(kit: Kit, at: HttpClient = kit.http): Promise<PassedOn> {
  return kit.once(`a request through the gateway${whereOf(kit, at)}`, async () => {
    const request = requestOf(given(kit.settings.probes.gateway));
    const name = kit.unique();
    const traceId = newTraceId(kit);
    const sent = traceparent(traceId);
    const path = `${request.path.replace(/\/$/, "")}/${name}`;
    await at.send(withExtra(request, { path, headers: [["traceparent", sent]], token: grant(kit) }));
    return { traceId, sent, received: given(kit.upstream).headersOf(name) };
  });
}

/**
 * Returns the client spans of the request through the gateway, once its server span was exported; undefined if that span is
 * missing.
 */
async function gatewaySpans(kit: Kit, traceId: string): Promise<readonly ReceivedSpan[] | undefined> {
  const { spans } = given(kit.otlp);
  const ofRequest = (): Promise<readonly ReceivedSpan[]> =>
    Promise.resolve(spans.filter((span) => span.traceId === traceId));
  const isWhole = (found: readonly ReceivedSpan[]): boolean => found.some(({ kind }) => kind === "server");
  const found = await until(ofRequest, isWhole, { forMs: exportPatienceMs, everyMs: 100 });
  if (!isWhole(found)) return undefined;
  return found.filter(
    ({ kind, attributes }) => kind === "client" && attributes["jfast.gateway.prefix"] !== undefined,
  );
}

/** The rules on requests that a gateway passes on. */
export const gatewayChecks: readonly Check[] = [
  check("GW-2", { needs }, async (kit) => {
    const at = await withoutExport(kit);
    if (at === undefined) return notApplicable("the service exports spans");
    const { sent, received } = await passedOn(kit, at);
    if (received === undefined) return notApplicable(notPassedOn);
    return must(
      received["traceparent"] === sent,
      `${show(received["traceparent"])}${whereOf(kit, at)}`,
      "the traceparent of the client, unchanged",
    );
  }),
];

/** The rules on the spans of requests that a gateway passes on. */
export const tracedGatewayChecks: readonly Check[] = [
  check("GW-1", { needs: ["telemetry", "otlp", ...needs] }, async function* (kit) {
    const { traceId, sent, received } = await passedOn(kit);
    if (received === undefined) return yield notApplicable(notPassedOn);
    const shown = show(received["traceparent"]);
    const [, trace, parent] = String(received["traceparent"]).split("-");
    yield must(trace === traceId && parent !== sent.split("-")[2], shown, "the same trace with another span");
    const spans = await gatewaySpans(kit, traceId);
    yield must(
      spans === undefined || spans.length === 0 || spans.some(({ spanId }) => spanId === parent),
      shown,
      "a traceparent with the id of the gateway's own span",
    );
  }),
  check("TRACE-10", { needs: ["telemetry", "otlp", ...needs] }, async function* (kit) {
    const { traceId, received } = await passedOn(kit);
    if (received === undefined) return yield notApplicable(notPassedOn);
    const spans = await gatewaySpans(kit, traceId);
    if (spans === undefined) return yield notApplicable("the request has no span in its trace: see TRACE-18");
    yield must(
      spans.length > 0,
      "no client span with jfast.gateway.prefix in the trace of a request that was passed on",
      "a client span of the request",
    );
    for (const { attributes } of spans) {
      const { path } = requestOf(given(kit.settings.probes.gateway));
      const prefix = String(attributes["jfast.gateway.prefix"]);
      yield must(
        path === prefix || path.startsWith(`${prefix}/`),
        `jfast.gateway.prefix ${show(prefix)}`,
        `a prefix of ${path}`,
      );
      const address = attributes["server.address"];
      const host = given(kit.settings.serveUpstream).replace(/:\d+$/, "");
      yield must(
        typeof address === "string" && address !== "",
        `server.address ${show(address)}`,
        `the host of the service behind the gateway, such as ${host}`,
      );
      const status = attributes["http.response.status_code"];
      yield must(
        status === 200,
        `http.response.status_code ${show(status)}`,
        "200, the status of the response",
      );
    }
  }),
];
