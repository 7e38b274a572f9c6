import { isObject, NoAnswer } from "../answer.ts";
import { check, type Check, given, type Need } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import type { Kit } from "../kit.ts";
import type { ReceivedSpan } from "../otlp/index.ts";
import { short, show } from "../show.ts";
import { fail, is, must, notApplicable, ruledOut, statusIs } from "../verdict.ts";
import { type ExportState, exportState, whereOf, withoutExport } from "./export-state.ts";
import { health } from "./system.ts";
import { callerSpanId, valid } from "./trace-context.ts";
import {
  type Exported,
  exported,
  exportPatienceMs,
  refusedExport,
  serverSpansOf,
  spansOf,
  stateAfterExport,
} from "./traced-calls.ts";

/** Maximum length of an attribute's string, in characters. */
const longest = 256;

/** Builds a check of the spans that the service exports during the run. */
function ofSpans(
  rule: string,
  needs: readonly Need[],
  judge: (seen: Exported, kit: Kit, spans: readonly ReceivedSpan[]) => Iterable<Verdict>,
): Check {
  return check(rule, { needs: ["telemetry", "otlp", ...needs] }, async function* (kit) {
    const seen = await exported(kit);
    const { spans } = given(kit.otlp);
    if (spans.length === 0) return notApplicable(noSpan);
    yield* judge(seen, kit, spans);
  });
}

/** Builds a check that `/health` and the resource of every span have the same values. */
function ofResource(rule: string, members: Readonly<Record<string, string>>): Check {
  return check(rule, { needs: ["telemetry", "otlp"] }, async function* (kit) {
    await exported(kit);
    const { object } = await health(kit);
    for (const { name, resource } of given(kit.otlp).spans) {
      for (const [attribute, member] of Object.entries(members)) {
        const value = resource[attribute];
        const expected = object?.[member];
        yield must(
          value === expected && expected !== undefined,
          `${attribute} ${show(value)} on the span ${show(name)}`,
          `${show(expected)}, as in /health`,
        );
      }
    }
    return notApplicable(noSpan);
  });
}

/** Returns the counts that a report contains. */
function countsIn({ detail, result }: ExportState): readonly number[] {
  const meta = result?.["meta"];
  const inDetail = detail.replace(/exporting to \S+/, "").match(/\d+/g) ?? [];
  return [...inDetail.map(Number), ...Object.values(isObject(meta) ? meta : {})].filter(
    Number.isInteger,
  ) as number[];
}

const noSpan = "no span arrived: see TRACE-1";
const noReport = "no check of /ready reports the export of spans: see TRACE-23";

export const telemetryChecks: readonly Check[] = [
  check("TRACE-1", { needs: ["telemetry", "otlp"] }, async function* (kit) {
    await exported(kit);
    const { spans, faults } = given(kit.otlp);
    yield must(faults.length === 0, short(String(faults[0])), "valid OTLP/HTTP requests");
    yield must(
      spans.length > 0,
      `no span arrived within ${exportPatienceMs / 1000} s`,
      "an export over OTLP/HTTP to the kit",
    );
  }),
  ofResource("TRACE-4", { "service.name": "service" }),
  check("TRACE-5", { needs: ["telemetry"] }, async (kit) => {
    const at = await withoutExport(kit);
    if (at === undefined) {
      const hasReport = kit.otlp !== undefined || (await exportState(kit)).state !== undefined;
      return hasReport ? ruledOut("the service has an endpoint") : notApplicable(noReport);
    }
    const { result } = await exportState(kit, at);
    const seen = `healthy ${show(result?.["healthy"])}${whereOf(kit, at)}`;
    return must(result?.["healthy"] === true, seen, "not a failure");
  }),
  ofSpans("TRACE-7", ["probe:templated"], function* ({ calls, ofTemplate, ofTenant }, kit) {
    for (const call of calls) {
      const [span] = serverSpansOf(kit, call);
      yield must(span !== undefined, `no server span for ${call.what}`, "a server span for every request");
      if (span === undefined) continue;
      const { attributes } = span;
      yield is("http.request.method", attributes["http.request.method"], call.method);
      yield is("http.response.status_code", attributes["http.response.status_code"], call.answer.status);
      yield is("jfast.request_id", attributes["jfast.request_id"], call.requestId);
      const template = kit.settings.probes.templated?.template ?? "";
      if (call === ofTemplate && call.answer.ok) {
        yield is("name", span.name, `${call.method} ${template}`);
        yield is("http.route", attributes["http.route"], template);
      }
      const { tokenTenant } = kit.settings;
      if (call === ofTenant && call.answer.ok && tokenTenant !== undefined)
        yield is("jfast.tenant_id", attributes["jfast.tenant_id"], tokenTenant);
    }
  }),
  ofResource("TRACE-14", {
    "service.version": "version",
    "deployment.environment.name": "env",
  }),
  ofSpans("TRACE-15", [], function* ({ marks }, _kit, spans) {
    for (const span of spans) {
      const text = JSON.stringify(span);
      for (const [what, mark] of Object.entries(marks))
        yield must(!text.includes(mark), `${what} in the span ${show(span.name)}`, "no data of a request");
    }
  }),
  ofSpans("TRACE-17", ["probe:failing"], function* ({ ofFailing }, kit) {
    const spans = ofFailing === undefined ? [] : serverSpansOf(kit, ofFailing);
    if (spans.length === 0) {
      yield notApplicable("the probe `failing` has no server span: see TRACE-7");
      return;
    }
    const event = spans.flatMap(({ events }) => events).find(({ name }) => name === "exception");
    yield must(event !== undefined, "no event `exception`", "the exception as an event of the server span");
    const { message = "" } = kit.settings.probes.failing ?? {};
    for (const [member, part] of [
      ["type", ""],
      ["message", message.slice(0, longest / 2)],
      ["stacktrace", ""],
    ] as const) {
      const value = event?.attributes[`exception.${member}`];
      yield must(
        typeof value === "string" && value !== "" && value.includes(part),
        `exception.${member} ${show(value)}`,
        "the type, the message and the stack of the exception",
      );
    }
  }),
  ofSpans("TRACE-18", [], function* ({ calls }, kit) {
    for (const call of calls) {
      const [span] = serverSpansOf(kit, call);
      if (span === undefined) continue;
      yield must(
        span.traceId === call.traceId && span.parentSpanId === callerSpanId,
        `${call.what}: trace or parent differs from the traceparent of the request`,
        "a server span in the trace of the caller",
      );
    }
  }),
  ofSpans("TRACE-22", [], function* ({ calls }, kit) {
    for (const call of calls) {
      const { length } = serverSpansOf(kit, call);
      yield must(length < 2, `${length} server spans for ${call.what}`, "one server span");
    }
  }),
  check("TRACE-24", { needs: ["telemetry", "otlp"] }, async (kit) => {
    const { state, detail } = await stateAfterExport(kit);
    if (state !== "exporting") return notApplicable("/ready does not report the endpoint: see TRACE-23");
    if (!given(kit.otlp).hasPrivateParts)
      return notApplicable("the endpoint of the service has neither user-info nor query");
    const shown = /exporting to (\S+)/.exec(detail)?.[1] ?? "";
    return must(!/[?@]/.test(shown), "the endpoint with user-info or a query", "the endpoint without them");
  }),
  ofSpans("TRACE-26", [], function* (_seen, _kit, spans) {
    for (const { name, attributes } of spans) {
      for (const [attribute, value] of Object.entries(attributes)) {
        const isSmall =
          typeof value === "string" ? value.length <= longest : /^(?:number|boolean)$/.test(typeof value);
        const seen = typeof value === "string" ? `${value.length} characters` : show(value);
        yield must(
          isSmall,
          `${attribute} with ${seen} on the span ${show(name)}`,
          `strings of at most ${longest} characters, numbers and booleans`,
        );
      }
    }
  }),
  ofSpans("TRACE-28", [], function* ({ unsampled }, kit) {
    yield must(
      spansOf(kit, unsampled).length === 0,
      "a span of a request whose traceparent has the flags 00",
      "no span, because the caller does not sample the trace",
    );
  }),
  check("COR-14", { needs: ["telemetry", "otlp", "probe:outbound"] }, async (kit) => {
    await exported(kit);
    const { sent } = await valid(kit);
    if (sent === undefined) return notApplicable("no outbound call arrived: see COR-5");
    const { spans } = given(kit.otlp);
    if (spans.length === 0) return notApplicable(noSpan);
    const parentId = String(sent["traceparent"]).split("-")[2];
    return must(
      spans.some(({ spanId }) => spanId === parentId),
      show(sent["traceparent"]),
      "a traceparent with the id of a span that the service exports",
    );
  }),
  check("TRACE-23", { needs: ["telemetry"], alone: true }, async function* (kit) {
    const now = await (kit.otlp === undefined ? exportState(kit) : stateAfterExport(kit));
    yield must(
      now.state !== undefined,
      `detail ${show(now.result?.["detail"])}`,
      "a check that reports `not exporting`, `exporting to <endpoint>` or a failing export",
    );
    if (now.state === "off")
      yield must(
        /SVC_TELEMETRY_ENDPOINT|OTEL_EXPORTER_OTLP_/.test(now.detail),
        show(now.detail),
        "the variable",
      );
    if (now.state !== "exporting") return;
    const counts = countsIn(now);
    yield must(
      counts.length > 1 && (kit.otlp === undefined || Math.max(...counts) > 0),
      show(now.detail),
      "the counts of exported spans and failed batches",
    );
    if (kit.otlp === undefined) return;
    const { failing, recovered } = await refusedExport(kit);
    yield must(
      failing.state === "failing",
      `${show(failing.detail)} while exports fail`,
      "span export failing; spans are being dropped",
    );
    yield must(
      recovered.state === "exporting",
      `${show(recovered.detail)} after a successful export`,
      "exporting to <endpoint>",
    );
  }),
  check("TRACE-21", { needs: ["telemetry", "otlp"], alone: true }, async function* (kit) {
    const { last, oddly } = await exported(kit);
    const { during } = await refusedExport(kit);
    for (const [call, when] of [
      ...oddly.map((each) => [each, "for a malformed tracestate or baggage"] as const),
      [during, "while exports fail"] as const,
    ]) {
      yield call instanceof NoAnswer
        ? fail(`${call.message} ${when}`, "a response")
        : statusIs(call.answer, last.answer.status, when);
    }
  }),
  check("RDY-17", { needs: ["telemetry"], alone: true }, async function* (kit) {
    const seen: ExportState[] = [await exportState(kit)];
    if (kit.otlp !== undefined) {
      const { before, failing } = await refusedExport(kit);
      seen.push(failing);
      yield statusIs(failing, before.status, "for /ready while exports fail");
    }
    for (const { result } of seen) {
      if (result === undefined) yield notApplicable(noReport);
      else yield is("critical", result["critical"], false);
    }
  }),
];
