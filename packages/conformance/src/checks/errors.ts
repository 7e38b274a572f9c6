import { isObject } from "../answer.ts";
import { type Check, every, fail, must, notApplicable, pass, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import { requestOf } from "../requests.ts";
import { short, show } from "../show.ts";
import { echoMark, failures, grant, loggedId, type Sample, samples, samplesOf } from "./samples.ts";

/** The phrases of RFC 9110, in the wording of this house first, then those of other editions. */
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

/** Judges every problem among the failures that were provoked. */
async function eachProblem(
  kit: Kit,
  judge: (problem: Readonly<Record<string, unknown>>, sample: Sample) => Verdict,
): Promise<Verdict> {
  const seen = await failures(kit);
  const verdicts = seen.map((sample) => {
    const { object } = sample.answer;
    if (object === undefined) return pass;
    const verdict = judge(object, sample);
    return verdict.status === "fail" ? { ...verdict, seen: `${sample.what}: ${verdict.seen}` } : verdict;
  });
  return every(verdicts);
}

/** Members that every error has, with what is wrong with one; `request_id` is judged apart. */
function memberFault(problem: Readonly<Record<string, unknown>>, sample: Sample): string | undefined {
  const { type, title, status, detail, instance } = problem;
  if (typeof type !== "string") return `type ${show(type)}`;
  if (typeof title !== "string") return `title ${show(title)}`;
  if (!(phrases[sample.answer.status] ?? [title]).includes(title)) return `title ${show(title)}`;
  if (status !== sample.answer.status) return `status ${show(status)} in a ${sample.answer.status}`;
  if (typeof detail !== "string" || detail === "") return `detail ${show(detail)}`;
  if (typeof instance !== "string" || !instance.split("?", 1)[0]?.endsWith(sample.path)) {
    return `instance ${show(instance)}`;
  }
  return undefined;
}

function idFault(
  problem: Readonly<Record<string, unknown>>,
  { answer, requestId }: Sample,
): string | undefined {
  const id = problem["request_id"];
  const known = [requestId, answer.header("x-request-id")];
  return typeof id === "string" && known.includes(id) ? undefined : `request_id ${show(id)}`;
}

/** The statuses whose request id the contract's own text asks for; those of the edge are the house's addition. */
const ordinary: readonly number[] = [401, 403, 404, 405, 500];

export const errorChecks: readonly Check[] = [
  {
    rule: "ERR-1",
    async run(kit) {
      return every(
        (await failures(kit)).map(({ what, answer }) =>
          must(
            answer.mediaType === "application/problem+json" && answer.object !== undefined,
            () => `${what}: ${answer.status} as ${answer.mediaType || "no content type"}`,
            "an object as application/problem+json",
          ),
        ),
      );
    },
  },
  {
    rule: "ERR-2",
    run: (kit) =>
      eachProblem(kit, (problem, sample) => {
        const fault =
          memberFault(problem, sample) ??
          (ordinary.includes(sample.answer.status) ? idFault(problem, sample) : undefined);
        return must(
          fault === undefined,
          String(fault),
          "type, title (the phrase), status, detail, instance (the path), request_id",
        );
      }),
  },
  {
    rule: "ERR-3",
    run: (kit) =>
      eachProblem(kit, ({ title }, { answer }) => {
        const known = phrases[answer.status];
        // Another text altogether is ERR-2's to judge.
        if (known === undefined || typeof title !== "string" || !known.includes(title)) return pass;
        return must(title === known[0], () => `title ${show(title)} of ${answer.status}`, known[0]);
      }),
  },
  {
    rule: "ERR-4",
    run: (kit) =>
      eachProblem(kit, ({ instance }) =>
        must(
          typeof instance !== "string" || !instance.includes("?"),
          () => `instance ${show(instance)}`,
          "the path without its query",
        ),
      ),
  },
  {
    rule: "ERR-5",
    run: (kit) =>
      eachProblem(kit, (problem, sample) => {
        if (ordinary.includes(sample.answer.status)) return pass;
        const fault = idFault(problem, sample);
        return must(fault === undefined, `${fault} in a ${sample.answer.status}`, "the id of the request");
      }),
  },
  {
    rule: "ERR-6",
    run: (kit) =>
      eachProblem(kit, (problem) => {
        const nested = ["extensions", "extra", "properties", "context", "data"].find((name) =>
          isObject(problem[name]),
        );
        return must(nested === undefined, `members within ${nested}`, "members beside the others");
      }),
  },
  {
    rule: "ERR-7",
    needs: ["probe:failing"],
    async run(kit) {
      const { failing } = kit.settings.probes;
      if (failing === undefined) return notApplicable("no probe");
      const answer = await kit.ask(failing.request, { token: grant(kit) });
      if (answer.status !== 500) return fail(`${answer.status}`, "500");
      const leak = leakIn(answer.text, failing.message);
      return must(leak === undefined, `the body tells ${leak}`, "a detail that tells nothing of the cause");
    },
  },
  {
    rule: "ERR-8",
    needs: ["probe:failing"],
    async run(kit) {
      const { failing } = kit.settings.probes;
      if (failing === undefined) return notApplicable("no probe");
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
    },
  },
  {
    rule: "ERR-9",
    async run(kit) {
      const seen = (await samples(kit)).find(({ what }) => what === "a method that a path does not have");
      return must(seen?.answer.status === 405, `${seen?.answer.status} for POST /health`, "405");
    },
  },
  {
    rule: "ERR-10",
    async run(kit) {
      const [seen] = await samplesOf(kit, 405);
      if (seen === undefined) return notApplicable("no 405 was seen: see ERR-9");
      const allow = seen.answer.header("allow");
      return must(
        (allow ?? "").split(/\s*,\s*/).includes("GET"),
        () => `Allow ${show(allow)}`,
        "Allow with the methods of the path, GET among them",
      );
    },
  },
  {
    rule: "ERR-11",
    async run(kit) {
      const seen = (await samples(kit)).find(({ what }) => what === "an unknown path");
      return must(seen?.answer.status === 404, `${seen?.answer.status}`, "404");
    },
  },
  {
    rule: "ERR-12",
    needs: ["auth", "probe:protected"],
    async run(kit) {
      const [seen] = (await samplesOf(kit, 401)).filter(({ what }) => what === "no caller");
      if (seen === undefined) return notApplicable("no 401 was seen: see AUTH-13");
      const { answer } = seen;
      const detail = answer.object?.["detail"];
      const challenge = answer.header("www-authenticate");
      return every([
        must(
          answer.object === undefined || detail === "authentication required",
          () => `detail ${show(detail)}`,
          "authentication required",
        ),
        must(challenge === "Bearer", () => `WWW-Authenticate ${show(challenge)}`, "WWW-Authenticate: Bearer"),
      ]);
    },
  },
  {
    rule: "ERR-13",
    needs: ["auth", "keys", "probe:scoped"],
    async run(kit) {
      const wanted = (kit.settings.probes.scoped?.scopes ?? []).toSorted();
      const [seen] = (await samplesOf(kit, 403)).filter(({ what }) => what === "a caller without the scopes");
      if (seen?.answer.object === undefined) return notApplicable("no 403 problem was seen: see AUTH-13");
      const { detail, missing_scopes: missing } = seen.answer.object;
      if (!wanted.every((scope) => seen.answer.text.includes(scope))) return notApplicable("see AUTH-13");
      return every([
        must(
          detail === `missing scope(s): ${wanted.join(", ")}`,
          () => `detail ${show(detail)}`,
          `missing scope(s): ${wanted.join(", ")}`,
        ),
        must(
          JSON.stringify(missing) === JSON.stringify(wanted),
          () => `missing_scopes ${show(missing)}`,
          `missing_scopes ${show(wanted)}`,
        ),
      ]);
    },
  },
  {
    rule: "ERR-14",
    needs: ["auth", "keys", "probe:role"],
    async run(kit) {
      const [seen] = (await samplesOf(kit, 403)).filter(({ what }) => what === "a caller without the role");
      if (seen?.answer.object === undefined) return notApplicable("no 403 problem was seen: see AUTH-13");
      const { detail } = seen.answer.object;
      const roles = kit.settings.probes.role?.roles ?? [];
      const texts = [roles, roles.toSorted()].map((each) => `requires one of: ${each.join(", ")}`);
      return must(texts.includes(String(detail)), () => `detail ${show(detail)}`, texts[0] ?? "");
    },
  },
  {
    rule: "ERR-15",
    needs: ["probe:invalid"],
    async run(kit) {
      const seen = (await samples(kit)).find(({ what }) => what === "an invalid body");
      return must(seen?.answer.status === 422, `${seen?.answer.status}`, "422");
    },
  },
  {
    rule: "ERR-16",
    needs: ["probe:invalid"],
    async run(kit) {
      const [seen] = await samplesOf(kit, 422);
      if (seen?.answer.object === undefined) return notApplicable("no 422 problem was seen: see ERR-15");
      const { detail, errors } = seen.answer.object;
      const fits = (error: unknown): boolean =>
        isObject(error) &&
        typeof error["type"] === "string" &&
        Array.isArray(error["loc"]) &&
        typeof error["msg"] === "string";
      return every([
        must(
          detail === "Request validation failed",
          () => `detail ${show(detail)}`,
          "Request validation failed",
        ),
        must(
          Array.isArray(errors) && errors.length > 0 && errors.every(fits),
          () => `errors ${show(errors)}`,
          "a list of { type, loc: [], msg, input? }",
        ),
      ]);
    },
  },
  {
    rule: "ERR-17",
    needs: ["probe:invalid"],
    async run(kit) {
      const { invalid } = kit.settings.probes;
      if (invalid?.longMember === undefined)
        return notApplicable("the probe `invalid` names no `long_member`");
      const { body, ...request } = requestOf(invalid.request);
      const given: unknown = JSON.parse(body ?? "{}");
      const long = { ...(isObject(given) ? given : {}), [invalid.longMember]: "z".repeat(5000) };
      const answer = await kit.ask({ ...request, headers: {}, body: long }, { token: grant(kit) });
      const errors = answer.object?.["errors"];
      if (answer.status !== 422 || !Array.isArray(errors))
        return notApplicable(`${answer.status} without errors`);
      const longest = Math.max(0, ...errors.map((error: unknown) => inputLength(error)));
      return must(longest <= 512, `an input of ${longest} characters`, "512 at most");
    },
  },
  {
    rule: "ERR-18",
    needs: ["probe:json"],
    async run(kit) {
      const seen = (await samples(kit)).find(({ what }) => what === "a body of another type");
      return must(seen?.answer.status === 415, `${seen?.answer.status} for text/csv`, "415");
    },
  },
  {
    rule: "ERR-19",
    needs: ["probe:json"],
    async run(kit) {
      const seen = (await samples(kit)).find(({ what }) => what === "malformed JSON");
      if (seen === undefined) return notApplicable("no probe");
      const detail = seen.answer.object?.["detail"];
      return every([
        must(seen.answer.status === 400, `${seen.answer.status}`, "400"),
        must(!seen.answer.text.includes(echoMark), "the body is repeated", "nothing of the body"),
        must(
          seen.answer.object === undefined || /\d/.test(String(detail)),
          () => `detail ${show(detail)}`,
          "the position named",
        ),
      ]);
    },
  },
  {
    rule: "ERR-21",
    async run(kit) {
      const { host } = kit.settings.url;
      const answer = await kit.http.sendBytes(`GET /health HTTP/1.1\r\nHost: ${host}\r\nno header\r\n\r\n`);
      const id = answer.object?.["request_id"];
      return must(
        answer.status === 400 && answer.mediaType === "application/problem+json" && typeof id === "string",
        () => `${answer.status} as ${answer.mediaType || short(answer.text, 40)}, request_id ${show(id)}`,
        "a 400 problem with request_id",
      );
    },
  },
];

/** What of the cause a body tells, in words that repeat none of it. */
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
