import { isObject, type JsonObject } from "../answer.ts";
import { check, type Check, given } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import { grant } from "../grant.ts";
import { requestOf } from "../requests.ts";
import type { LogLine } from "../log-reader.ts";
import { short, show } from "../show.ts";
import { fail, is, must, mustBe, notApplicable, pass, statusIs } from "../verdict.ts";
import { askWithId } from "./logs.ts";
import {
  eachNamed,
  echoMark,
  failures,
  ordinary,
  type Sample,
  sampleOf,
  samplesOf,
  unanswered,
} from "./samples.ts";

/** Describes what a body reveals about the cause, without quoting it; undefined if it reveals nothing. */
function leakIn(text: string, message: string | undefined): string | undefined {
  if (message !== undefined && text.includes(message)) return "the message of the exception";
  if (
    /\bat [\w.<>]+ ?\(|\bat (?:file:)?\/|Traceback \(most recent|\.(?:ts|js|py|go|java|rb):\d+/.test(text)
  ) {
    return "a stack";
  }
  return undefined;
}

function inputLength(error: unknown): number {
  const input = isObject(error) ? error["input"] : undefined;
  if (input === undefined) return 0;
  return typeof input === "string" ? input.length : JSON.stringify(input).length;
}

/** Status phrases: first this project's wording, then the wordings of other editions of RFC 9110. */
const phrases: Readonly<Record<number, readonly [string, ...string[]]>> = {
  400: ["Bad Request"],
  401: ["Unauthorized"],
  403: ["Forbidden"],
  404: ["Not Found"],
  405: ["Method Not Allowed"],
  408: ["Request Timeout"],
  411: ["Length Required"],
  413: ["Payload Too Large", "Content Too Large", "Request Entity Too Large"],
  415: ["Unsupported Media Type"],
  422: ["Unprocessable Entity", "Unprocessable Content"],
  429: ["Too Many Requests"],
  431: ["Request Header Fields Too Large"],
  500: ["Internal Server Error"],
  503: ["Service Unavailable"],
  504: ["Gateway Timeout"],
};

/** Builds a check of the problem documents of all provoked failures. */
function ofProblems(rule: string, judge: (problem: JsonObject, sample: Sample) => Verdict): Check {
  return check(rule, {}, async function* (kit) {
    yield* (await failures(kit)).map((sample) => {
      const { object } = sample.answer;
      if (object === undefined) return notApplicable("a response is not a problem document: see ERR-1");
      const verdict = judge(object, sample);
      return verdict.status === "fail" ? { ...verdict, seen: `${sample.what}: ${verdict.seen}` } : verdict;
    });
  });
}

/**
 * Describes the first invalid member among those that every problem document must have; undefined if all are valid.
 * `request_id` is checked separately.
 */
function memberFault(problem: JsonObject, sample: Sample): string | undefined {
  const { type, title, status, detail, instance } = problem;
  if (typeof type !== "string") return `type ${show(type)}`;
  if (typeof title !== "string") return `title ${show(title)}`;
  if (!(phrases[sample.answer.status] ?? [title]).includes(title)) return `title ${show(title)}`;
  if (status !== sample.answer.status) return `status ${show(status)} in a ${sample.answer.status} response`;
  if (typeof detail !== "string" || detail === "") return `detail ${show(detail)}`;
  if (typeof instance !== "string" || !instance.split("?", 1)[0]?.endsWith(sample.path)) {
    return `instance ${show(instance)}`;
  }
  return undefined;
}

function idFault(problem: JsonObject, { answer, requestId }: Sample): string | undefined {
  const id = problem["request_id"];
  const known = [requestId, answer.header("x-request-id")];
  return typeof id === "string" && known.includes(id) ? undefined : `request_id ${show(id)}`;
}

export const errorChecks: readonly Check[] = [
  check("ERR-7", { needs: ["probe:failing"] }, async (kit) => {
    const failing = given(kit.settings.probes.failing);
    const answer = await kit.ask(failing.request, { token: grant(kit) });
    if (answer.status !== 500) return fail(`${answer.status}`, "500");
    const leak = leakIn(answer.text, failing.message);
    return must(
      leak === undefined,
      `the body reveals ${leak}`,
      "a detail that reveals nothing about the cause",
    );
  }),
  check("ERR-8", { needs: ["probe:failing"] }, async (kit) => {
    const failing = given(kit.settings.probes.failing);
    const isError = ({ value }: LogLine): boolean => /^error$/i.test(String(value?.["level"]));
    const { answer, id } = await askWithId(kit, failing.request, { token: grant(kit) });
    if (leakIn(answer.text, failing.message) !== undefined) return notApplicable("see ERR-7");
    const detail = answer.object?.["detail"];
    const text = "An unexpected error occurred";
    if (answer.object !== undefined && detail !== text) return fail(`detail ${show(detail)}`, text);
    if (kit.log === undefined) return pass;
    const lines = await kit.log.about(id, isError);
    return must(
      lines.some((line) => isError(line) && /\bat /.test(line.text)),
      "no line at level error with a stack",
      "the exception logged with its stack at level error",
    );
  }),
  check("ERR-9", {}, async function* (kit) {
    const seen = await sampleOf(kit, "an unsupported method");
    yield statusIs(seen?.answer, 405, "for POST /health");
    yield* await eachNamed(kit, 405);
  }),
  check("ERR-10", {}, async function* (kit) {
    const seen = await samplesOf(kit, 405);
    if (seen.length === 0) return notApplicable("no response had status 405: see ERR-9");
    yield* seen.map(({ what, answer, named }) => {
      const allow = answer.header("allow");
      const listed = (allow ?? "").split(/\s*,\s*/);
      const methods = [...(named?.methods ?? ["GET"])].filter((each) => !/^(?:HEAD|OPTIONS)$/.test(each));
      return must(
        methods.every((each) => listed.includes(each)),
        `Allow ${show(allow)} for ${what}`,
        `Allow with the methods of the path, including ${methods.join(", ")}`,
      );
    });
  }),
  check("ERR-11", {}, async function* (kit) {
    const seen = await sampleOf(kit, "an unknown path");
    yield statusIs(seen?.answer, 404);
    yield* await eachNamed(kit, 404);
  }),
  check("ERR-12", { needs: ["auth", "probe:protected"] }, async function* (kit) {
    const seen = (await samplesOf(kit, 401)).filter(
      ({ what, named }) => what === "no caller" || named?.status === 401,
    );
    if (seen.length === 0) return notApplicable("no response had status 401: see AUTH-13");
    yield* seen.flatMap(({ answer }) => {
      const detail = answer.object?.["detail"];
      const challenge = answer.header("www-authenticate");
      return [
        mustBe(
          answer.object === undefined || detail === "authentication required",
          { detail },
          "authentication required",
        ),
        mustBe(challenge === "Bearer", { "WWW-Authenticate": challenge }, "WWW-Authenticate: Bearer"),
      ];
    });
  }),
  check("ERR-13", { needs: ["auth", "keys", "probe:scoped"] }, async function* (kit) {
    const wanted = (kit.settings.probes.scoped?.scopes ?? []).toSorted();
    const [seen] = (await samplesOf(kit, 403)).filter(({ what }) => what === "a caller without the scopes");
    if (seen?.answer.object === undefined)
      return notApplicable("no 403 problem document was received: see AUTH-13");
    const { detail, missing_scopes: missing } = seen.answer.object;
    if (!wanted.every((scope) => seen.answer.says(scope))) return notApplicable("see AUTH-13");
    yield is("detail", detail, `missing scope(s): ${wanted.join(", ")}`);
    yield mustBe(
      JSON.stringify(missing) === JSON.stringify(wanted),
      { missing_scopes: missing },
      `missing_scopes ${show(wanted)}`,
    );
  }),
  check("ERR-14", { needs: ["auth", "keys", "probe:role"] }, async (kit) => {
    const [seen] = (await samplesOf(kit, 403)).filter(({ what }) => what === "a caller without the role");
    if (seen?.answer.object === undefined)
      return notApplicable("no 403 problem document was received: see AUTH-13");
    const { detail } = seen.answer.object;
    const roles = kit.settings.probes.role?.roles ?? [];
    const texts = [roles, roles.toSorted()].map((each) => `requires one of: ${each.join(", ")}`);
    return must(texts.includes(String(detail)), `detail ${show(detail)}`, texts[0] ?? "");
  }),
  check("ERR-15", { needs: ["probe:invalid"] }, async (kit) => {
    const seen = await sampleOf(kit, "an invalid body");
    return statusIs(seen?.answer, 422);
  }),
  check("ERR-16", { needs: ["probe:invalid"] }, async function* (kit) {
    const [seen] = await samplesOf(kit, 422);
    if (seen?.answer.object === undefined)
      return notApplicable("no 422 problem document was received: see ERR-15");
    const { detail, errors } = seen.answer.object;
    const fits = (error: unknown): boolean =>
      isObject(error) &&
      typeof error["type"] === "string" &&
      Array.isArray(error["loc"]) &&
      typeof error["msg"] === "string";
    yield is("detail", detail, "Request validation failed");
    yield mustBe(
      Array.isArray(errors) && errors.length > 0 && errors.every(fits),
      { errors },
      "a list of { type, loc: [], msg, input? }",
    );
  }),
  check("ERR-17", { needs: ["probe:invalid"] }, async (kit) => {
    const { invalid } = kit.settings.probes;
    if (invalid?.longMember === undefined) return notApplicable("`invalid.long_member` is not set");
    const { body, ...request } = requestOf(invalid.request);
    const given: unknown = JSON.parse(body ?? "{}");
    const long = { ...(isObject(given) ? given : {}), [invalid.longMember]: "z".repeat(5000) };
    const answer = await kit.ask({ ...request, headers: {}, body: long }, { token: grant(kit) });
    const errors = answer.object?.["errors"];
    if (answer.status !== 422 || !Array.isArray(errors))
      return notApplicable(`no 422 with a list \`errors\`; the status is ${answer.status}`);
    const longest = Math.max(0, ...errors.map((error: unknown) => inputLength(error)));
    return must(longest <= 512, `an input of ${longest} characters`, "at most 512");
  }),
  check("ERR-18", { needs: ["probe:json"] }, async (kit) => {
    const seen = await sampleOf(kit, "a body with an unsupported type");
    return statusIs(seen?.answer, 415, "for text/csv");
  }),
  check("ERR-19", { needs: ["probe:json"] }, async function* (kit) {
    const seen = await sampleOf(kit, "malformed JSON");
    if (seen === undefined) return notApplicable("no probe");
    const detail = seen.answer.object?.["detail"];
    yield statusIs(seen.answer, 400);
    yield must(!seen.answer.text.includes(echoMark), "the response repeats the body", "no part of the body");
    yield mustBe(
      seen.answer.object === undefined || /\d/.test(String(detail)),
      { detail },
      "the position of the syntax error",
    );
  }),
  check("ERR-21", {}, async (kit) => {
    const head = kit.http.head({ path: "/health" });
    const answer = await kit.http.sendBytes(head.replace(/\r\n\r\n$/, "\r\nno header\r\n\r\n"));
    const id = answer.object?.["request_id"];
    return must(
      answer.status === 400 && answer.mediaType === "application/problem+json" && typeof id === "string",
      `${answer.status} as ${answer.mediaType || short(answer.text, 40)}, request_id ${show(id)}`,
      "a 400 problem with request_id",
    );
  }),
  check("ERR-1", {}, async function* (kit) {
    const expected = "a JSON object as application/problem+json";
    yield* (await failures(kit)).map(({ what, answer }) =>
      must(
        answer.mediaType === "application/problem+json" && answer.object !== undefined,
        `${what}: ${answer.status} as ${answer.mediaType || "no content type"}`,
        expected,
      ),
    );
    yield* (await unanswered(kit)).map(({ what, reason }) => fail(`${what}: ${reason.message}`, expected));
  }),
  ofProblems("ERR-2", (problem, sample) => {
    const fault =
      memberFault(problem, sample) ??
      (ordinary.includes(sample.answer.status) ? idFault(problem, sample) : undefined);
    return must(
      fault === undefined,
      String(fault),
      "type, title (the status phrase), status, detail, instance (the path), request_id",
    );
  }),
  ofProblems("ERR-3", ({ title }, { answer }) => {
    const known = phrases[answer.status];
    // ERR-2 checks a title that is not a known phrase.
    if (known === undefined || typeof title !== "string" || !known.includes(title)) return pass;
    return must(title === known[0], `title ${show(title)} for ${answer.status}`, known[0]);
  }),
  ofProblems("ERR-4", ({ instance }) =>
    mustBe(
      typeof instance !== "string" || !instance.includes("?"),
      { instance },
      "the path without its query",
    ),
  ),
  ofProblems("ERR-5", (problem, sample) => {
    if (ordinary.includes(sample.answer.status)) return pass;
    const fault = idFault(problem, sample);
    return must(
      fault === undefined,
      `${fault} in a ${sample.answer.status} response`,
      "the id of the request",
    );
  }),
  ofProblems("ERR-6", (problem) => {
    const nested = ["extensions", "extra", "properties", "context", "data"].find((name) =>
      isObject(problem[name]),
    );
    return must(nested === undefined, `members nested in ${nested}`, "members at the top level");
  }),
];
