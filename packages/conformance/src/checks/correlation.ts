import type { Answer } from "../answer.ts";
import { check, type Check } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import type { Kit } from "../kit.ts";
import { show } from "../show.ts";
import { fail, must, notApplicable, pass, ruledOut } from "../verdict.ts";
import { whereOf, withoutExport } from "./export-state.ts";
import { askWithId, linesAbout } from "./logs.ts";
import { ordinary, samplesOf } from "./samples.ts";
import { traced, traceparent, tracestate, valid, wasRead } from "./trace-context.ts";

/** Requests a path that does not exist, because the problem response contains the service's request id. */
function unknownPath(kit: Kit, headers: readonly (readonly [string, string])[]): Promise<Answer> {
  return kit.get(`/${kit.unique()}`, { headers });
}

/** Returns the request id of a response, from its header or body. */
function idOf(answer: Answer): unknown {
  return answer.header("x-request-id") ?? answer.object?.["request_id"];
}

function needsSight(kit: Kit): Verdict | undefined {
  if (kit.log === undefined && kit.settings.probes.outbound === undefined) {
    return notApplicable("needs the log or a probe `outbound`");
  }
  return undefined;
}

const invalid: readonly (readonly [what: string, (traceId: string) => string])[] = [
  ["version 01", (id) => `01-${id}-00f067aa0ba902b7-01`],
  ["version ff", (id) => `ff-${id}-00f067aa0ba902b7-01`],
  ["upper case", (id) => `00-${id.toUpperCase()}-00F067AA0BA902B7-01`],
  ["a trace id of zeros", () => `00-${"0".repeat(32)}-00f067aa0ba902b7-01`],
  ["a short trace id", (id) => `00-${id.slice(1)}-00f067aa0ba902b7-01`],
  ["a trace id that is not hex", (id) => `00-${id.slice(1)}g-00f067aa0ba902b7-01`],
  ["a parent id of zeros", (id) => `00-${id}-0000000000000000-01`],
  ["a short parent id", (id) => `00-${id}-00f067aa0ba902b-01`],
  ["a fifth field", (id) => `00-${id}-00f067aa0ba902b7-01-more`],
  ["one-digit flags", (id) => `00-${id}-00f067aa0ba902b7-1`],
];

export const correlationChecks: readonly Check[] = [
  check("COR-1", {}, async function* (kit) {
    // Proxies often send header names in lower case.
    for (const name of ["X-Request-ID", "x-request-id"]) {
      const id = kit.unique();
      const answer = await unknownPath(kit, [[name, id]]);
      yield must(
        answer.header("x-request-id") === id || answer.object?.["request_id"] === id,
        `${show(idOf(answer))} for ${name}: ${id}`,
        "the id of the request",
      );
    }
  }),
  check("COR-2", {}, async function* (kit) {
    const ids = [idOf(await unknownPath(kit, [])), idOf(await unknownPath(kit, []))];
    yield must(
      ids.every((id) => typeof id === "string" && id !== ""),
      `${show(ids[0])} and ${show(ids[1])}`,
      "an id for a request without one",
    );
    yield must(ids[0] !== ids[1], `${show(ids[0])} twice`, "a new id for each request");
  }),
  check("COR-3", {}, async function* (kit) {
    for (const path of ["/health", `/${kit.unique()}`]) {
      const id = kit.unique();
      const answer = await kit.get(path, { headers: [["X-Request-ID", id]] });
      const echoed = answer.header("x-request-id");
      const differs = answer.object?.["request_id"] === id && echoed !== id;
      yield must(Boolean(echoed), `no X-Request-ID on ${answer.status}`, "the id of the request");
      yield must(
        !differs,
        `X-Request-ID ${show(echoed)} on a problem with request_id ${show(id)}`,
        "the id of the request",
      );
    }
    // Error handlers often drop the X-Request-ID header.
    for (const { what, answer } of await samplesOf(kit, ...ordinary)) {
      const echoed = Boolean(answer.header("x-request-id"));
      yield must(echoed, `${what}: no X-Request-ID on ${answer.status}`, "the id of the request");
    }
  }),
  check("COR-4", { needs: ["log"] }, async (kit) => {
    const path = `/${kit.unique()}`;
    await askWithId(kit, path);
    const lines = await linesAbout(kit, path);
    if (lines.length === 0) return notApplicable("no log line contains the path of the request");
    const without = lines.find(({ value }) => typeof value?.["request_id"] !== "string");
    return must(
      without === undefined,
      "a log line of the request without request_id",
      "request_id on each line",
    );
  }),
  check("COR-6", {}, async function* (kit) {
    const plain = kit.unique();
    if (idOf(await unknownPath(kit, [["X-Request-ID", plain]])) !== plain) {
      return notApplicable("the service does not use the id of a request: see COR-1");
    }
    const ids = ["7", "!~#$%&'()*+,-./:;<=>?@[]^_`{|}", `${kit.unique()}${"x".repeat(128)}`.slice(0, 128)];
    for (const id of ids) {
      const answer = await unknownPath(kit, [["X-Request-ID", id]]);
      yield must(idOf(answer) === id, `${show(idOf(answer))} for ${show(id)}`, "the id of the request");
    }
  }),
  check("COR-7", {}, async function* (kit) {
    const bad: readonly (readonly [string, readonly string[]])[] = [
      ["129 characters", [`${kit.unique()}${"y".repeat(129)}`.slice(0, 129)]],
      ["a space", [`${kit.unique()} x`]],
      ["a byte above ASCII", [`${kit.unique()}\u00e9`]],
      ["a tab", [`${kit.unique()}\tx`]],
      ["two values", [kit.unique(), kit.unique()]],
    ];
    for (const [what, values] of bad) {
      const answer = await kit.get("/health", {
        headers: values.map((value) => ["X-Request-ID", value] as const),
      });
      const echoed = answer.header("x-request-id") ?? "";
      yield must(answer.status === 200, `${answer.status} for X-Request-ID with ${what}`, "200");
      yield must(
        !values.some((value) => echoed.includes(value.slice(0, 19))),
        `X-Request-ID with ${what} was echoed`,
        "a new id instead",
      );
    }
  }),
  check("COR-8", {}, async (kit) => {
    const id = idOf(await unknownPath(kit, []));
    if (typeof id !== "string" || id === "") return notApplicable("the service generated no id: see COR-2");
    return must(/^[0-9a-f]{32}$/.test(id), show(id), "32 lowercase hex characters");
  }),
  check("COR-5", { needs: ["probe:outbound"] }, async (kit) => {
    const { sent, ids } = await valid(kit);
    if (sent === undefined) return fail("no outbound call arrived", "a call to the URL in the path");
    return must(
      ids.includes(String(sent["x-request-id"])),
      show(sent["x-request-id"]),
      "the X-Request-ID of the request, on the outbound call",
    );
  }),
  check("COR-9", {}, async (kit) => {
    const blind = needsSight(kit);
    if (blind !== undefined) return blind;
    const trace = await valid(kit);
    if (!trace.inLog && kit.settings.probes.outbound === undefined) {
      return notApplicable("the log has no line for a request of this run: see LOG-3");
    }
    return must(
      wasRead(trace),
      "a valid traceparent was not used",
      "the trace id in the log or the outbound call",
    );
  }),
  check("COR-10", {}, async function* (kit) {
    const blind = needsSight(kit);
    if (blind !== undefined) return blind;
    const seen = await kit.once("invalid traces", () =>
      Promise.all(invalid.map(async ([what, make]) => [what, await traced(kit, make)] as const)),
    );
    yield* seen.map(([what, trace]) =>
      must(
        !trace.loggedAsTraceId &&
          !String(trace.sent?.["traceparent"]).toLowerCase().includes(trace.traceId.toLowerCase()),
        `a traceparent with ${what} was accepted`,
        "an invalid traceparent is dropped",
      ),
    );
  }),
  check("COR-11", { needs: ["probe:outbound"] }, async (kit) => {
    const { sent } = await traced(kit, (id) => `00-${id}-0000000000000000-01`);
    return must(
      sent?.["tracestate"] !== tracestate,
      "the tracestate of an invalid traceparent was forwarded",
      "both headers are dropped",
    );
  }),
  check("COR-12", { needs: ["log"] }, async (kit) => {
    const trace = await valid(kit);
    if (!wasRead(trace)) return notApplicable("the trace context was not read: see COR-9");
    return must(trace.loggedAsTraceId, "no trace_id in the log", "the trace id of the caller as trace_id");
  }),
  check("COR-13", { needs: ["probe:outbound"] }, async (kit) => {
    const trace = await valid(kit);
    if (trace.sent === undefined) return notApplicable("no outbound call arrived: see COR-5");
    if (!wasRead(trace)) return notApplicable("the trace context was not read: see COR-9");
    return must(
      String(trace.sent["traceparent"]).includes(trace.traceId) && trace.sent["tracestate"] !== undefined,
      show({ traceparent: trace.sent?.["traceparent"], tracestate: trace.sent?.["tracestate"] }),
      "traceparent of the same trace, and tracestate",
    );
  }),
  check("COR-15", { needs: ["probe:outbound"] }, async (kit) => {
    const at = await withoutExport(kit);
    if (at === undefined) return ruledOut("the service exports spans");
    const { sent, traceId } = await valid(kit, at);
    if (at === kit.http) {
      // COR-13 checks a missing traceparent.
      if (sent?.["traceparent"] === undefined) return pass;
    } else if (sent === undefined) {
      return notApplicable("no outbound call of the second replica arrived");
    }
    return must(
      sent["traceparent"] === traceparent(traceId) &&
        (sent["tracestate"] === undefined || sent["tracestate"] === tracestate),
      `${show(sent["traceparent"])}${whereOf(kit, at)}`,
      "the caller's trace context, unchanged",
    );
  }),
];
