import { type Answer, NoAnswer, orReason } from "../answer.ts";
import type { Verdict } from "../conformance-report.ts";
import type { Kit } from "../kit.ts";
import type { Probe } from "../option-values.ts";
import { must } from "../verdict.ts";
import { anonymously } from "./tenants.ts";

interface Malformed {
  readonly what: string;
  readonly values: readonly string[];
  /** Whether a server may reject the request before it reads this header. Default: false. */
  readonly isLong?: boolean;
}

/** `Authorization` headers that do not contain exactly one bearer token. */
const malformed: readonly Malformed[] = [
  { what: "a scheme without a token", values: ["Bearer"] },
  { what: "two words after the scheme", values: ["Bearer a b"] },
  { what: "another scheme", values: ["Basic x"] },
  { what: "two tokens", values: ["Bearer a.b.c d.e.f"] },
  { what: "two tokens in a list", values: ["Bearer a.b.c, Bearer d.e.f"] },
  { what: "two values", values: ["Bearer a.b.c", "Bearer d.e.f"] },
  { what: "JSON", values: ['Bearer {"message":"none","level":[{}]}'] },
  { what: "quotes and backslashes", values: ['Bearer "\\\\","message":"\\"'] },
  { what: "punctuation", values: ["=;,()<>@[]{}?/:"] },
  { what: "non-ASCII bytes", values: ["Bearer \u00e9\u00ff"] },
  { what: "9,000 characters", values: [`Bearer ${"a".repeat(9000)}`], isLong: true },
];

interface Sent extends Malformed {
  readonly open: Answer | undefined;
  readonly guarded: Answer | undefined;
}

/** Sends every malformed header to the open and the protected route; all checks share the responses. */
function sent(kit: Kit): Promise<readonly Sent[]> {
  return kit.once("malformed authorization", async () => {
    const { open = "/health", protected: inner } = kit.settings.probes;
    const named = (await anonymously(kit)) ?? {};
    async function send(probe: Probe, { values, isLong }: Malformed): Promise<Answer | undefined> {
      const headers = values.map((value) => ["Authorization", value] as const);
      const answer = await orReason(
        kit.ask(probe, { ...named, headers: [...(named.headers ?? []), ...headers] }),
      );
      if (!(answer instanceof NoAnswer)) return answer;
      if (isLong === true) return undefined;
      throw answer;
    }
    return Promise.all(
      malformed.map(async (each) => ({
        ...each,
        open: await send(open, each),
        guarded: inner === undefined ? undefined : await send(inner, each),
      })),
    );
  });
}

/** Sends every malformed header, so that the log shows how the service handles them. */
export async function sendMalformed(kit: Kit): Promise<void> {
  await sent(kit);
}

/** Requires that an open route ignores a malformed header. */
export async function malformedOnOpen(kit: Kit): Promise<readonly Verdict[]> {
  return (await sent(kit))
    .filter(({ isLong, open }) => isLong !== true && open !== undefined)
    .map(({ what, open }) =>
      must(
        open?.ok === true,
        `${open?.status} on an open route for an Authorization header with ${what}`,
        "the header is ignored",
      ),
    );
}

/** Requires that a protected route responds with 401 to a malformed header. */
export async function malformedOnGuarded(kit: Kit): Promise<readonly Verdict[]> {
  return (await sent(kit)).flatMap(({ what, isLong, guarded }) => {
    if (guarded === undefined) return [];
    const { status } = guarded;
    const isRefused = isLong === true ? status >= 400 && status < 500 : status === 401;
    return [must(isRefused, `${status} for an Authorization header with ${what}`, "401")];
  });
}
