import { isObject } from "../answer.ts";
import { type Check, check, every, fail, must, notApplicable, pass, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import { show } from "../show.ts";
import { failures, ordinary, type Sample, unanswered } from "./samples.ts";

/** The phrases of RFC 9110, first in this project's wording, then in that of other editions. */
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

/** Judges every problem among the provoked failures. */
async function eachProblem(
  kit: Kit,
  judge: (problem: Readonly<Record<string, unknown>>, sample: Sample) => Verdict,
): Promise<Verdict> {
  const seen = await failures(kit);
  const verdicts = seen.map((sample) => {
    const { object } = sample.answer;
    if (object === undefined) return notApplicable("no problem document was seen: see ERR-1");
    const verdict = judge(object, sample);
    return verdict.status === "fail" ? { ...verdict, seen: `${sample.what}: ${verdict.seen}` } : verdict;
  });
  return every(verdicts);
}

/** Returns the fault in a member that every error has; `request_id` is judged separately. */
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

/** Checks of the format of every failure. */
export const problemChecks: readonly Check[] = [
  check("ERR-1", {}, async (kit) => {
    const expected = "an object as application/problem+json";
    return every([
      ...(await failures(kit)).map(({ what, answer }) =>
        must(
          answer.mediaType === "application/problem+json" && answer.object !== undefined,
          () => `${what}: ${answer.status} as ${answer.mediaType || "no content type"}`,
          expected,
        ),
      ),
      ...(await unanswered(kit)).map(({ what, reason }) => fail(`${what}: ${reason.message}`, expected)),
    ]);
  }),
  check("ERR-2", {}, (kit) =>
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
  ),
  check("ERR-3", {}, (kit) =>
    eachProblem(kit, ({ title }, { answer }) => {
      const known = phrases[answer.status];
      // ERR-2 judges an entirely different text.
      if (known === undefined || typeof title !== "string" || !known.includes(title)) return pass;
      return must(title === known[0], () => `title ${show(title)} of ${answer.status}`, known[0]);
    }),
  ),
  check("ERR-4", {}, (kit) =>
    eachProblem(kit, ({ instance }) =>
      must(
        typeof instance !== "string" || !instance.includes("?"),
        () => `instance ${show(instance)}`,
        "the path without its query",
      ),
    ),
  ),
  check("ERR-5", {}, (kit) =>
    eachProblem(kit, (problem, sample) => {
      if (ordinary.includes(sample.answer.status)) return pass;
      const fault = idFault(problem, sample);
      return must(fault === undefined, `${fault} in a ${sample.answer.status}`, "the id of the request");
    }),
  ),
  check("ERR-6", {}, (kit) =>
    eachProblem(kit, (problem) => {
      const nested = ["extensions", "extra", "properties", "context", "data"].find((name) =>
        isObject(problem[name]),
      );
      return must(nested === undefined, `members within ${nested}`, "members beside the others");
    }),
  ),
];
