import { isObject } from "../answer.ts";
import { type Check, check, every, fail, given, is, must, notApplicable, pass } from "../check.ts";
import { requestOf } from "../requests.ts";
import { short, show } from "../show.ts";
import { grant } from "../grant.ts";
import { eachNamed } from "./named-samples.ts";
import { echoMark, loggedId, sampleOf, samplesOf } from "./samples.ts";

/** Checks of the answers to each kind of failure. */
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
    const id = kit.unique();
    const answer = await kit.ask(failing.request, { token: grant(kit), headers: [["X-Request-ID", id]] });
    if (leakIn(answer.text, failing.message) !== undefined) return notApplicable("see ERR-7");
    const detail = answer.object?.["detail"];
    const text = "An unexpected error occurred";
    if (answer.object !== undefined && detail !== text) return fail(`detail ${show(detail)}`, text);
    if (kit.log === undefined) return pass;
    const isError = (level: unknown): boolean => /^error$/i.test(String(level));
    const lines = await kit.log.about(loggedId(answer, id), ({ value }) => isError(value?.["level"]));
    return must(
      lines.some(({ value, text: line }) => isError(value?.["level"]) && /\bat /.test(line)),
      "no line at level error with a stack",
      "the exception logged with its stack at level error",
    );
  }),
  check("ERR-9", {}, async (kit) => {
    const seen = await sampleOf(kit, "a method that a path does not have");
    return every([
      must(seen?.answer.status === 405, `${seen?.answer.status} for POST /health`, "405"),
      ...(await eachNamed(kit, 405)),
    ]);
  }),
  check("ERR-10", {}, async (kit) => {
    const seen = await samplesOf(kit, 405);
    if (seen.length === 0) return notApplicable("no 405 was seen: see ERR-9");
    return every(
      seen.map(({ what, answer, named }) => {
        const allow = answer.header("allow");
        const listed = (allow ?? "").split(/\s*,\s*/);
        const methods = [...(named?.methods ?? ["GET"])].filter((each) => !/^(?:HEAD|OPTIONS)$/.test(each));
        return must(
          methods.every((each) => listed.includes(each)),
          () => `Allow ${show(allow)} to ${what}`,
          `Allow with the methods of the path, ${methods.join(", ")} among them`,
        );
      }),
    );
  }),
  check("ERR-11", {}, async (kit) => {
    const seen = await sampleOf(kit, "an unknown path");
    return every([
      must(seen?.answer.status === 404, `${seen?.answer.status}`, "404"),
      ...(await eachNamed(kit, 404)),
    ]);
  }),
  check("ERR-12", { needs: ["auth", "probe:protected"] }, async (kit) => {
    const seen = (await samplesOf(kit, 401)).filter(
      ({ what, named }) => what === "no caller" || named?.status === 401,
    );
    if (seen.length === 0) return notApplicable("no 401 was seen: see AUTH-13");
    return every(
      seen.flatMap(({ answer }) => {
        const detail = answer.object?.["detail"];
        const challenge = answer.header("www-authenticate");
        return [
          must(
            answer.object === undefined || detail === "authentication required",
            () => `detail ${show(detail)}`,
            "authentication required",
          ),
          must(
            challenge === "Bearer",
            () => `WWW-Authenticate ${show(challenge)}`,
            "WWW-Authenticate: Bearer",
          ),
        ];
      }),
    );
  }),
  check("ERR-13", { needs: ["auth", "keys", "probe:scoped"] }, async (kit) => {
    const wanted = (kit.settings.probes.scoped?.scopes ?? []).toSorted();
    const [seen] = (await samplesOf(kit, 403)).filter(({ what }) => what === "a caller without the scopes");
    if (seen?.answer.object === undefined) return notApplicable("no 403 problem was seen: see AUTH-13");
    const { detail, missing_scopes: missing } = seen.answer.object;
    if (!wanted.every((scope) => seen.answer.says(scope))) return notApplicable("see AUTH-13");
    return every([
      is("detail", detail, `missing scope(s): ${wanted.join(", ")}`),
      must(
        JSON.stringify(missing) === JSON.stringify(wanted),
        () => `missing_scopes ${show(missing)}`,
        `missing_scopes ${show(wanted)}`,
      ),
    ]);
  }),
  check("ERR-14", { needs: ["auth", "keys", "probe:role"] }, async (kit) => {
    const [seen] = (await samplesOf(kit, 403)).filter(({ what }) => what === "a caller without the role");
    if (seen?.answer.object === undefined) return notApplicable("no 403 problem was seen: see AUTH-13");
    const { detail } = seen.answer.object;
    const roles = kit.settings.probes.role?.roles ?? [];
    const texts = [roles, roles.toSorted()].map((each) => `requires one of: ${each.join(", ")}`);
    return must(texts.includes(String(detail)), () => `detail ${show(detail)}`, texts[0] ?? "");
  }),
  check("ERR-15", { needs: ["probe:invalid"] }, async (kit) => {
    const seen = await sampleOf(kit, "an invalid body");
    return must(seen?.answer.status === 422, `${seen?.answer.status}`, "422");
  }),
  check("ERR-16", { needs: ["probe:invalid"] }, async (kit) => {
    const [seen] = await samplesOf(kit, 422);
    if (seen?.answer.object === undefined) return notApplicable("no 422 problem was seen: see ERR-15");
    const { detail, errors } = seen.answer.object;
    const fits = (error: unknown): boolean =>
      isObject(error) &&
      typeof error["type"] === "string" &&
      Array.isArray(error["loc"]) &&
      typeof error["msg"] === "string";
    return every([
      is("detail", detail, "Request validation failed"),
      must(
        Array.isArray(errors) && errors.length > 0 && errors.every(fits),
        () => `errors ${show(errors)}`,
        "a list of { type, loc: [], msg, input? }",
      ),
    ]);
  }),
  check("ERR-17", { needs: ["probe:invalid"] }, async (kit) => {
    const { invalid } = kit.settings.probes;
    if (invalid?.longMember === undefined) return notApplicable("the probe `invalid` names no `long_member`");
    const { body, ...request } = requestOf(invalid.request);
    const given: unknown = JSON.parse(body ?? "{}");
    const long = { ...(isObject(given) ? given : {}), [invalid.longMember]: "z".repeat(5000) };
    const answer = await kit.ask({ ...request, headers: {}, body: long }, { token: grant(kit) });
    const errors = answer.object?.["errors"];
    if (answer.status !== 422 || !Array.isArray(errors))
      return notApplicable(`${answer.status} without errors`);
    const longest = Math.max(0, ...errors.map((error: unknown) => inputLength(error)));
    return must(longest <= 512, `an input of ${longest} characters`, "512 at most");
  }),
  check("ERR-18", { needs: ["probe:json"] }, async (kit) => {
    const seen = await sampleOf(kit, "a body of another type");
    return must(seen?.answer.status === 415, `${seen?.answer.status} for text/csv`, "415");
  }),
  check("ERR-19", { needs: ["probe:json"] }, async (kit) => {
    const seen = await sampleOf(kit, "malformed JSON");
    if (seen === undefined) return notApplicable("no probe");
    const detail = seen.answer.object?.["detail"];
    return every([
      must(seen.answer.status === 400, `${seen.answer.status}`, "400"),
      must(!seen.answer.text.includes(echoMark), "the body is repeated", "no part of the body"),
      must(
        seen.answer.object === undefined || /\d/.test(String(detail)),
        () => `detail ${show(detail)}`,
        "the position named",
      ),
    ]);
  }),
  check("ERR-21", {}, async (kit) => {
    const head = kit.http.head({ path: "/health" });
    const answer = await kit.http.sendBytes(head.replace(/\r\n\r\n$/, "\r\nno header\r\n\r\n"));
    const id = answer.object?.["request_id"];
    return must(
      answer.status === 400 && answer.mediaType === "application/problem+json" && typeof id === "string",
      () => `${answer.status} as ${answer.mediaType || short(answer.text, 40)}, request_id ${show(id)}`,
      "a 400 problem with request_id",
    );
  }),
];

/** Returns which part of the cause a body reveals, without quoting it. */
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
