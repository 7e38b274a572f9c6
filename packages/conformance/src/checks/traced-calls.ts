import { type Answer, NoAnswer, orReason } from "../answer.ts";
import { grant } from "../grant.ts";
import { type Kit, until } from "../kit.ts";
import type { ReceivedSpan } from "../otlp/index.ts";
import type { Probe } from "../option-values.ts";
import { type Extra, requestOf } from "../requests.ts";
import { type ExportState, untilState } from "./export-state.ts";
import { askWithId } from "./logs.ts";
import { newTraceId, traceparent, valid } from "./trace-context.ts";

/** A request with a trace context, and its response. */
export interface TracedCall {
  readonly what: string;
  readonly method: string;
  readonly traceId: string;
  readonly requestId: string;
  readonly answer: Answer;
}

/** Time limit in milliseconds for an export; exporters send a batch every five seconds by default. */
export const exportPatienceMs = 15_000;
/** Time limit in milliseconds for `/ready` to report a new state, whose result may be one second old. */
const reportPatienceMs = 3000;

/** A string that is longer than an attribute may be. */
const longText = `svc-conformance ${"x".repeat(300)}`;

async function send(
  kit: Kit,
  what: string,
  probe: Probe,
  extra: Extra = {},
  flags?: string,
): Promise<TracedCall> {
  const traceId = newTraceId(kit);
  const headers = [
    ["traceparent", traceparent(traceId, flags)],
    ["User-Agent", longText],
    ...(extra.headers ?? []),
  ] as const;
  const { answer, id } = await askWithId(kit, probe, { token: grant(kit), ...extra, headers });
  return { what, method: extra.method ?? requestOf(probe).method, traceId, requestId: id, answer };
}

function sendUnknown(kit: Kit, extra?: Extra, flags?: string): Promise<TracedCall> {
  return send(kit, "an unknown path", `/${kit.unique()}`, extra, flags);
}

/** Returns the received spans of a request, by its trace id or its request id. */
export function spansOf(kit: Kit, { traceId, requestId }: TracedCall): readonly ReceivedSpan[] {
  return (kit.otlp?.spans ?? []).filter(
    (span) => span.traceId === traceId || span.attributes["jfast.request_id"] === requestId,
  );
}

export function serverSpansOf(kit: Kit, call: TracedCall): readonly ReceivedSpan[] {
  return spansOf(kit, call).filter(({ kind }) => kind === "server");
}

/** Headers that a service may fail to parse; none of them is a reason to refuse a request. */
const odd: readonly (readonly [name: string, value: string])[] = [
  ["tracestate", `${"=,;%".repeat(200)}a=b`],
  ["tracestate", Array.from({ length: 60 }, (_, index) => `k${index}=${"v".repeat(20)}`).join(",")],
  ["baggage", "%%%;;=,,=\u00ff"],
];

/** Sends traced requests, and waits until the kit has received their spans; all checks share the result. */
export function exported(kit: Kit) {
  return kit.once("exported spans", async () => {
    const { templated, failing, json, tenant, outbound } = kit.settings.probes;
    const [query, parameter, body, unknown] = [
      kit.unique(),
      kit.unique(),
      kit.unique(),
      kit.unique(),
    ] as const;
    const marked = (target: string): string =>
      `${target}${target.includes("?") ? "&" : "?"}conformance=${query}`;
    const named = async (name: string, probe: Probe, extra?: Extra): Promise<TracedCall | undefined> => {
      const path = marked(requestOf(probe).path);
      const sent = await orReason(send(kit, `the probe \`${name}\``, probe, { path, ...extra }));
      // The checks of these probes report a missing response.
      return sent instanceof NoAnswer ? undefined : sent;
    };

    if (outbound !== undefined) await orReason(valid(kit));
    const ofTemplate =
      templated &&
      (await named("templated", templated.request, {
        path: marked(requestOf(templated.request).path.replaceAll("{random}", parameter)),
      }));
    const ofFailing = failing && (await named("failing", failing.request));
    const ofTenant = tenant && grant(kit) !== undefined ? await named("tenant", tenant.request) : undefined;
    const ofBody =
      json === undefined
        ? undefined
        : await named("json", json, {
            method: requestOf(json).method === "GET" ? "POST" : requestOf(json).method,
            headers: [["Content-Type", "application/json"]],
            body: JSON.stringify({ text: body }),
          });
    const unsampled = await sendUnknown(kit, {}, "00");
    const oddly = await Promise.all(odd.map((header) => orReason(sendUnknown(kit, { headers: [header] }))));
    const last = await send(kit, "an unknown path", `/${unknown}`, { path: marked(`/${unknown}`) });

    const calls = [ofTemplate, ofFailing, ofTenant, ofBody, last].filter((call) => call !== undefined);
    const haveSpans = async (...expected: readonly TracedCall[]): Promise<boolean> =>
      expected.every((call) => spansOf(kit, call).length > 0);
    await until(() => haveSpans(last), Boolean, { forMs: exportPatienceMs, everyMs: 50 });
    // Exporters may send batches concurrently, so an earlier span may arrive after a later one.
    await until(() => haveSpans(...calls), Boolean, { forMs: 1000, everyMs: 50 });
    return {
      calls,
      ofTemplate,
      ofFailing,
      ofTenant,
      unsampled,
      oddly,
      /** The last request, to an unknown path. */
      last,
      /** Strings that no span may contain. */
      marks: {
        "the query": query,
        "a path parameter": parameter,
        "a request body": body,
        "the path": unknown,
      },
    };
  });
}

export type Exported = Awaited<ReturnType<typeof exported>>;

/** Returns what `/ready` reports after the service has exported spans. */
export function stateAfterExport(kit: Kit): Promise<ExportState> {
  return kit.once("state after export", async () => {
    await exported(kit);
    return untilState(kit, "exporting", reportPatienceMs);
  });
}

/** Rejects the exports of the service until `/ready` reports the failure, and then accepts them again. */
export function refusedExport(kit: Kit) {
  return kit.once("refused export", async () => {
    const before = await stateAfterExport(kit);
    const forMs = before.state === "exporting" ? exportPatienceMs : 0;
    let during: TracedCall | NoAnswer;
    let failing: ExportState;
    kit.otlp?.setRefusing(true);
    try {
      await orReason(sendUnknown(kit));
      failing = await untilState(kit, "failing", forMs);
      during = await orReason(sendUnknown(kit));
    } finally {
      kit.otlp?.setRefusing(false);
    }
    return { before, failing, during, recovered: await untilState(kit, "exporting", forMs) };
  });
}
