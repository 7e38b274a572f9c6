import { type Answer, NoAnswer } from "../answer.ts";
import { type Check, check, every, given, must, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import { requestOf } from "../requests.ts";
import { grant } from "../grant.ts";
import { sampleOf, tooLong } from "./samples.ts";

/** Sends a head that announces a body, and a part of the body; the connection stays open. */
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
  try {
    return await kit.http.sendBytes(Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(start)]));
  } catch (error) {
    if (error instanceof NoAnswer) return undefined;
    throw error;
  }
}

/** Requires the status that a complete body got; LIM-1 judges that status itself. */
function refusedAs(
  status: number | undefined,
  answer: Answer | undefined,
  when: string,
  expected: string,
): Verdict {
  return must(
    answer !== undefined && answer.status === status,
    `${answer?.status ?? "no answer"} ${when}`,
    expected,
  );
}

/** Milliseconds allowed for an answer at or after the service's own timeout. */
function beyondTimeout({ settings }: Kit): number {
  return (settings.limits.requestTimeoutSeconds + settings.requestSeconds) * 1000;
}

export const limitChecks: readonly Check[] = [
  check("LIM-1", { needs: ["probe:json"] }, async (kit) => {
    const seen = await sampleOf(kit, tooLong);
    return must(seen?.answer.status === 413, `${seen?.answer.status} for a body over the limit`, "413");
  }),
  check("LIM-2", { needs: ["probe:json"] }, async (kit) => {
    const length = kit.settings.limits.maxBodyBytes + 1;
    const answer = await unfinished(kit, [["Content-Length", String(length)]], "");
    return refusedAs(
      (await sampleOf(kit, tooLong))?.answer.status,
      answer,
      "before the body was sent",
      "413 by Content-Length alone",
    );
  }),
  check("LIM-3", { needs: ["probe:json"] }, async (kit) => {
    const size = kit.settings.limits.maxBodyBytes + 1024;
    const chunk = `${size.toString(16)}\r\n{"text":"${"x".repeat(size - 9)}\r\n`;
    const answer = await unfinished(kit, [["Transfer-Encoding", "chunked"]], chunk);
    return refusedAs(
      (await sampleOf(kit, tooLong))?.answer.status,
      answer,
      "to a chunked body over the limit that goes on",
      "413 as soon as it is over the limit",
    );
  }),
  check("LIM-4", { needs: ["probe:slow"] }, async (kit) => {
    const slow = given(kit.settings.probes.slow);
    const answer = await kit.ask(slow, { token: grant(kit), timeoutMs: beyondTimeout(kit) });
    return must(answer.status === 504, `${answer.status} from a route that takes too long`, "504");
  }),
  check("LIM-5", { needs: ["probe:streaming"] }, async (kit) => {
    const streaming = given(kit.settings.probes.streaming);
    try {
      const answer = await kit.ask(streaming, { token: grant(kit), timeoutMs: beyondTimeout(kit) });
      return every([must(answer.ok, `${answer.status}`, "an answer that has begun is left alone")]);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      return must(false, error.message, "an answer that has begun is left alone");
    }
  }),
];
