import { type Answer, NoAnswer, orReason } from "../answer.ts";
import { check, type Check, given } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import type { Kit } from "../kit.ts";
import { requestOf } from "../requests.ts";
import { grant } from "../grant.ts";
import { fail, must, statusIs, succeeds } from "../verdict.ts";
import { sampleOf, tooLong } from "./samples.ts";

/** Sends headers that announce a body, followed by only the start of that body. The connection stays open. */
async function unfinished(
  kit: Kit,
  headers: readonly (readonly [string, string])[],
  start: string,
): Promise<Answer | undefined> {
  const { json } = kit.settings.probes;
  const { path, method } = requestOf(json ?? "/");
  const token = grant(kit);
  const head = kit.http.head({
    method: method === "GET" ? "POST" : method,
    path,
    headers: [
      ["Content-Type", "application/json"],
      ...(token === undefined ? [] : [["Authorization", `Bearer ${token}`] as const]),
      ...headers,
    ],
  });
  const bytes = Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(start)]);
  const answer = await orReason(kit.http.sendBytes(bytes));
  return answer instanceof NoAnswer ? undefined : answer;
}

/** Requires the status with which the service refuses a complete body that is too long; LIM-1 checks that status. */
async function refusedAsWhole(
  kit: Kit,
  answer: Answer | undefined,
  when: string,
  expected: string,
): Promise<Verdict> {
  const whole = await sampleOf(kit, tooLong);
  const isSame = answer !== undefined && answer.status === whole?.answer.status;
  return must(isSame, `${answer?.status ?? "no response"} ${when}`, expected);
}

/** Returns the time limit for a response in milliseconds: the service's own request timeout plus the kit's limit. */
function beyondTimeout({ settings }: Kit): number {
  return (settings.limits.requestTimeoutSeconds + settings.requestSeconds) * 1000;
}

export const limitChecks: readonly Check[] = [
  check("LIM-1", { needs: ["probe:json"] }, async (kit) => {
    const seen = await sampleOf(kit, tooLong);
    return statusIs(seen?.answer, 413, "for a body over the limit");
  }),
  check("LIM-2", { needs: ["probe:json"] }, async (kit) => {
    const length = kit.settings.limits.maxBodyBytes + 1;
    const answer = await unfinished(kit, [["Content-Length", String(length)]], "");
    return refusedAsWhole(kit, answer, "before the body was sent", "413 based on Content-Length alone");
  }),
  check("LIM-3", { needs: ["probe:json"] }, async (kit) => {
    const size = kit.settings.limits.maxBodyBytes + 1024;
    const chunk = `${size.toString(16)}\r\n{"text":"${"x".repeat(size - 9)}\r\n`;
    const answer = await unfinished(kit, [["Transfer-Encoding", "chunked"]], chunk);
    const when = "for a chunked body that exceeds the limit";
    return refusedAsWhole(kit, answer, when, "413 as soon as the body exceeds the limit");
  }),
  check("LIM-4", { needs: ["probe:slow"] }, async (kit) => {
    const slow = given(kit.settings.probes.slow);
    const answer = await kit.ask(slow, { token: grant(kit), timeoutMs: beyondTimeout(kit) });
    return statusIs(answer, 504, "from a route that takes too long");
  }),
  check("LIM-5", { needs: ["probe:streaming"] }, async (kit) => {
    const streaming = given(kit.settings.probes.streaming);
    const expected = "a response that has begun is not interrupted";
    const answer = await orReason(kit.ask(streaming, { token: grant(kit), timeoutMs: beyondTimeout(kit) }));
    return answer instanceof NoAnswer ? fail(answer.message, expected) : succeeds(answer, "", expected);
  }),
];
