import type { IncomingHttpHeaders } from "node:http";
import { check, type Check, given } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import { grant } from "../grant.ts";
import type { Kit } from "../kit.ts";
import { requestOf } from "../requests.ts";
import { show } from "../show.ts";
import { must, notApplicable } from "../verdict.ts";
import { newTraceId, traceparent, valid } from "./trace-context.ts";
import { exported } from "./traced-calls.ts";

const noCall = "no outbound call arrived: see COR-5";
const tenant = "svc-conformance-tenant";

interface Called {
  /** Undefined if no call arrived. */
  readonly sent: IncomingHttpHeaders | undefined;
  readonly requestId: string | undefined;
  readonly token: string | undefined;
}

/** Sends a request without an id, with a trace, a tenant and a token, and returns the headers of the outbound call. */
function called(kit: Kit): Promise<Called> {
  return kit.once("an outbound call", async () => {
    const echo = await kit.echo();
    const probe = given(kit.settings.probes.outbound);
    const name = kit.unique();
    const token = grant(kit);
    const answer = await kit.ask(probe, {
      path: requestOf(probe).path.replaceAll("{url}", encodeURIComponent(echo.urlFor(name))),
      headers: [
        ["traceparent", traceparent(newTraceId(kit))],
        ["X-Tenant-ID", tenant],
      ],
      token,
    });
    return { sent: echo.headersOf(name), requestId: answer.header("x-request-id"), token };
  });
}

function ofCall(
  rule: string,
  judge: (sent: IncomingHttpHeaders, called: Called, kit: Kit) => Verdict | Promise<Verdict>,
): Check {
  return check(rule, { needs: ["probe:outbound"] }, async (kit) => {
    const made = await called(kit);
    return made.sent === undefined ? notApplicable(noCall) : judge(made.sent, made, kit);
  });
}

/** The rules on calls to other services. */
export const outboundChecks: readonly Check[] = [
  ofCall("HTTP-1", async (sent, { requestId }, kit) => {
    if (requestId === undefined) return notApplicable("the response has no id: see COR-3");
    const { sent: ofGivenId } = await valid(kit);
    if (ofGivenId?.["x-request-id"] === undefined) return notApplicable("no call has an id: see COR-5");
    return must(
      sent["x-request-id"] === requestId,
      show(sent["x-request-id"]),
      "the id that the service generated, in X-Request-ID of the outbound call",
    );
  }),
  ofCall("HTTP-2", (sent) =>
    must(
      sent["x-tenant-id"] === undefined && !JSON.stringify(sent).includes(tenant),
      "the outbound call carries the tenant",
      "no tenant: the next service takes it from the token",
    ),
  ),
  ofCall("HTTP-3", (sent, { token }) => {
    if (token === undefined) return notApplicable("needs a token: there are no keys");
    return must(
      sent.authorization === undefined && !JSON.stringify(sent).includes(token),
      "the outbound call carries Authorization",
      "no Authorization, unless the client is configured to forward it",
    );
  }),
];

/** The rules on calls to other services by a service that exports spans. */
export const tracedOutboundChecks: readonly Check[] = [
  check("TRACE-9", { needs: ["telemetry", "otlp", "probe:outbound"] }, async function* (kit) {
    const { sent, spans } = await clientSpans(kit);
    if (sent === undefined) return yield notApplicable(noCall);
    yield must(
      spans.length > 0,
      "no client span with jfast.upstream in the trace of an outbound call",
      "a client span of the call",
    );
    for (const { attributes } of spans) {
      const status = attributes["http.response.status_code"];
      yield must(
        status === 200,
        `http.response.status_code ${show(status)}`,
        "200, the status of the response",
      );
      const address = attributes["server.address"];
      yield must(address === "127.0.0.1", `server.address ${show(address)}`, "the host of the called URL");
      const resends = attributes["http.request.resend_count"] ?? 0;
      yield must(resends === 0, `http.request.resend_count ${show(resends)}`, "0, or no such attribute");
    }
  }),
  check("TRACE-19", { needs: ["telemetry", "otlp", "probe:outbound"] }, async (kit) => {
    const { sent, spans } = await clientSpans(kit);
    if (sent === undefined) return notApplicable(noCall);
    if (spans.length === 0) return notApplicable("the call has no span: see TRACE-9");
    const parentId = String(sent["traceparent"]).split("-")[2];
    if (!given(kit.otlp).spans.some(({ spanId }) => spanId === parentId)) {
      return notApplicable("the traceparent names no exported span: see COR-14");
    }
    return must(
      spans.some(({ spanId }) => spanId === parentId),
      show(sent["traceparent"]),
      "a traceparent with the id of the call's own span",
    );
  }),
];

/** Returns the client spans of all outbound calls, and the headers of one call. */
async function clientSpans(kit: Kit) {
  await exported(kit);
  const { sent } = await valid(kit);
  const spans = given(kit.otlp).spans.filter(
    ({ kind, attributes }) => kind === "client" && attributes["jfast.upstream"] !== undefined,
  );
  return { sent, spans };
}
