import type { Answer } from "../answer.ts";
import { type Check, check } from "../check.ts";
import { grant } from "../grant.ts";
import type { Kit } from "../kit.ts";
import type { LogLine } from "../log-reader.ts";
import type { Probe } from "../option-values.ts";
import type { Extra } from "../requests.ts";
import { short, show, showLine } from "../show.ts";
import { fail, is, must, mustBe, notApplicable, pass } from "../verdict.ts";
import { sendMalformed } from "./malformed-authorization.ts";

/** Whether a log line is the access line that the service writes for each request. */
export function isAccess({ value }: LogLine): boolean {
  return value?.["message"] === "request";
}

/**
 * Sends a request with an id. Returns the id from the response header, which the log uses; it may differ from the sent
 * id.
 */
export async function askWithId(
  kit: Kit,
  probe: Probe,
  extra: Extra = {},
): Promise<{ readonly answer: Answer; readonly id: string }> {
  const sent = kit.unique();
  const headers = [...(extra.headers ?? []), ["X-Request-ID", sent] as const];
  const answer = await kit.ask(probe, { ...extra, headers });
  return { answer, id: answer.header("x-request-id") ?? sent };
}

/**
 * Returns the log lines that contain a string, after waiting for one that matches `fits`. Returns no lines without a
 * log.
 */
export async function linesAbout(
  kit: Kit,
  text: string,
  fits?: (line: LogLine) => boolean,
): Promise<readonly LogLine[]> {
  return (await kit.log?.about(text, fits)) ?? [];
}

interface Logged {
  readonly path: string;
  readonly id: string;
  readonly lines: readonly LogLine[];
}

/** Sends a request with a unique path and id, and waits for the lines that name the path. */
async function logged(kit: Kit): Promise<Logged> {
  const path = `/${kit.unique()}`;
  const { id } = await askWithId(kit, path);
  return { path, id, lines: await linesAbout(kit, path, isAccess) };
}

/** Sends one request; all checks share its log lines. */
function request(kit: Kit): Promise<Logged> {
  return kit.once("logged request", () => logged(kit));
}

/** Sends a request after all others. Once its lines are written, all earlier lines are too. */
function lastRequest(kit: Kit): Promise<Logged> {
  return kit.once("last logged request", async () => {
    await sendMalformed(kit);
    return logged(kit);
  });
}

/** Members that occur only in log lines written during a request. */
const ofRequests = ["http_method", "http_path", "http_status"];

interface Incomplete {
  readonly line: LogLine;
  readonly members: readonly string[];
  readonly missing: readonly string[];
}

/** Returns the first log line without a required string member; undefined if every line is complete. */
function incomplete(lines: readonly LogLine[], asksForId: boolean): Incomplete | undefined {
  for (const line of lines) {
    const isInside = asksForId && ofRequests.some((name) => line.value?.[name] !== undefined);
    const members = ["service", "env", "level", "message", ...(isInside ? ["request_id"] : [])];
    const missing = members.filter((name) => typeof line.value?.[name] !== "string");
    if (missing.length > 0) return { line, members, missing };
  }
  return undefined;
}

/** Checks of every log line. They run last to include the lines that all other checks cause. */
export const everyLineChecks: readonly Check[] = [
  check("LOG-1", { needs: ["log"], alone: true }, async function* (kit) {
    await lastRequest(kit);
    const lines = (await kit.log?.lines()) ?? [];
    const wrong = lines.find(({ value }) => value === undefined);
    yield must(lines.length > 0, "no line", "log lines for the requests of this run");
    yield must(wrong === undefined, showLine(wrong?.text ?? ""), "one JSON object per line");
  }),
  check("LOG-2", { needs: ["log"], alone: true }, async (kit) => {
    const { id, path } = await lastRequest(kit);
    const lines = ((await kit.log?.lines()) ?? []).filter(({ value }) => value !== undefined);
    if (!lines.some(({ text }) => text.includes(id) || text.includes(path))) {
      return notApplicable("the log has no line for a request of this run");
    }
    // Require ids in other lines only if this request's own lines contain one: COR-4 checks whether they do.
    const ownLines = lines.filter(({ text }) => text.includes(path));
    const asksForId = ownLines.every(({ value }) => typeof value?.["request_id"] === "string");
    const wrong = incomplete(lines, asksForId);
    return wrong === undefined
      ? pass
      : fail(
          `a line without ${wrong.missing.join(", ")}: ${short(wrong.line.text, 300)}`,
          wrong.members.join(", "),
        );
  }),
];

export const logChecks: readonly Check[] = [
  check("LOG-3", { needs: ["log"] }, async function* (kit) {
    const { path, lines } = await request(kit);
    const line = lines.find(isAccess)?.value;
    if (line === undefined) {
      return must(false, "no line with message `request` for a request", "the access line");
    }
    const { http_method: method, http_path, http_status: status, duration_ms: duration } = line;
    yield is("http_method", method, "GET");
    yield mustBe(typeof http_path === "string" && http_path.endsWith(path), { http_path }, "the path");
    yield mustBe(typeof status === "number" && status >= 400, { http_status: status }, "the status");
    yield mustBe(typeof duration === "number" && duration >= 0, { duration_ms: duration }, "a number");
  }),
  check("LOG-4", { needs: ["log", "tenancy", "keys", "probe:tenant"] }, async (kit) => {
    const { tenant: probe } = kit.settings.probes;
    const tenant = kit.settings.tokenTenant;
    if (probe === undefined || tenant === undefined) return notApplicable("no tenant");
    const { answer, id } = await askWithId(kit, probe.request, { token: grant(kit) });
    if (!answer.ok) return notApplicable(`the probe \`tenant\` responds with ${answer.status}: see TEN-1`);
    const line = (await linesAbout(kit, id, isAccess)).find(isAccess);
    if (line === undefined) return notApplicable("no access line: see LOG-3");
    return mustBe(
      line.value?.["tenant_id"] === tenant,
      { tenant_id: line.value?.["tenant_id"] },
      `tenant_id ${show(tenant)}`,
    );
  }),
];
