import type { Answer } from "../answer.ts";
import { grant } from "../grant.ts";
import { NoAnswer } from "../http-client.ts";
import type { Kit } from "../kit.ts";
import { findRoutes, type NamedRoute } from "../openapi.ts";
import { requestOf, withExtra } from "../requests.ts";
import { probesOf } from "./named-routes.ts";
import { anonymously } from "./tenants.ts";

/** A request that has to fail, and what came back. */
export interface Sample {
  readonly what: string;
  readonly path: string;
  readonly requestId: string;
  readonly answer: Answer;
  /** What `/openapi.json` lets one expect of the request. Default: nothing; the sample is not due to that document. */
  readonly named?: Expectation | undefined;
}

/** The status that a request has to be refused with, and the methods that the document names for its path. */
export interface Expectation {
  readonly status: 401 | 404 | 405;
  readonly methods: ReadonlySet<string>;
}

type Extra = NonNullable<Parameters<typeof withExtra>[1]>;

/** A request that has to fail, and that nobody answered. */
export interface Unanswered {
  readonly what: string;
  readonly reason: NoAnswer;
}

/** Requests that fail for every reason that the probes allow; sent once for all checks. */
function attempts(kit: Kit): Promise<readonly (Sample | Unanswered)[]> {
  return kit.once("samples", async () => {
    const [routes, anonymous] = await Promise.all([findRoutes(kit), anonymously(kit)]);
    return Promise.all(failing(kit, routes, anonymous).map((make) => make()));
  });
}

/** Those that were answered. */
export async function samples(kit: Kit): Promise<readonly Sample[]> {
  return (await attempts(kit)).filter((each): each is Sample => "answer" in each);
}

/** Those that were not. One with a body that is too long is not counted: the contract sets no limit. */
export async function unanswered(kit: Kit): Promise<readonly Unanswered[]> {
  const all = await attempts(kit);
  return all.filter((each): each is Unanswered => "reason" in each && each.what !== tooLong);
}

/** The sample of one kind; undefined when its probe was not given. @throws NoAnswer */
export async function sampleOf(kit: Kit, what: string): Promise<Sample | undefined> {
  const found = (await attempts(kit)).find((each) => each.what === what);
  if (found !== undefined && "reason" in found) throw found.reason;
  return found;
}

export const tooLong = "a body that is too long";

/** The samples whose answer is a failure of a certain status. */
export async function samplesOf(kit: Kit, ...statuses: readonly number[]): Promise<readonly Sample[]> {
  return (await samples(kit)).filter(({ answer }) => statuses.includes(answer.status));
}

/** Those of all samples that were answered by a failure. */
export async function failures(kit: Kit): Promise<readonly Sample[]> {
  return (await samples(kit)).filter(({ answer }) => answer.status >= 400);
}

function failing(
  kit: Kit,
  routes: readonly NamedRoute[],
  anonymous: Extra | undefined,
): readonly (() => Promise<Sample | Unanswered>)[] {
  const { probes, limits } = kit.settings;
  const made: (() => Promise<Sample | Unanswered>)[] = [];
  function add(
    what: string,
    probe: Parameters<typeof requestOf>[0],
    extra: Extra = {},
    named?: Expectation,
  ): void {
    made.push(async () => {
      const requestId = kit.unique();
      const request = requestOf(probe);
      const path = extra.path ?? request.path;
      const query = `${path.includes("?") ? "&" : "?"}conformance=1`;
      const outgoing = withExtra(request, {
        ...extra,
        path: `${path}${query}`,
        headers: [...(extra.headers ?? []), ["X-Request-ID", requestId]],
      });
      try {
        const answer = await kit.http.send(outgoing);
        return { what, path: path.split("?", 1)[0] ?? path, requestId, answer, named };
      } catch (error) {
        if (error instanceof NoAnswer) return { what, reason: error };
        throw error;
      }
    });
  }

  const token = kit.settings.keys === undefined || !kit.has("auth") ? undefined : kit.tokens.mint();
  add("an unknown path", `/${kit.unique()}`, { token });
  add("a method that a path does not have", "POST /health", { token });
  if (probes.failing !== undefined) add("an exception", probes.failing.request, { token: grant(kit) });
  if (probes.json !== undefined) {
    const { method, path } = requestOf(probes.json);
    const call = { method: method === "GET" ? "POST" : method, path };
    const type = (value: string): readonly (readonly [string, string])[] => [["Content-Type", value]];
    add("malformed JSON", call, { token: grant(kit), headers: type("application/json"), body: malformed });
    add("a body of another type", call, { token: grant(kit), headers: type("text/csv"), body: "a,b" });
    add(tooLong, call, {
      token: grant(kit),
      headers: type("application/json"),
      body: JSON.stringify({ text: "x".repeat(limits.maxBodyBytes) }),
    });
  }
  if (probes.invalid !== undefined) add("an invalid body", probes.invalid.request, { token: grant(kit) });
  if (kit.has("auth")) {
    if (probes.protected !== undefined) add("no caller", probes.protected, anonymous);
    if (probes.scoped !== undefined && token !== undefined) {
      add("a caller without the scopes", probes.scoped.request, { token });
    }
    if (probes.role !== undefined && token !== undefined) {
      add("a caller without the role", probes.role.request, { token });
    }
  }
  if (probes.session !== undefined) {
    const body = { refresh_token: "not-a-token" };
    add("a refresh that is refused", { method: "POST", path: "/auth/refresh", body });
    add("nobody who signs out", "POST /auth/logout");
  }
  for (const route of probesOf(kit, routes)) {
    const isAnonymous = route.named.status === 401;
    add(route.what, route.request, isAnonymous ? anonymous : { token: grant(kit) }, route.named);
  }
  return made;
}

/** The statuses whose request id the contract's own text asks for; those of the edge are the house's addition. */
export const ordinary: readonly number[] = [401, 403, 404, 405, 500];

/** What the malformed body contains: it must not come back. */
export const echoMark = "svc-conformance-mark";
const malformed = `{"a": "${echoMark}", }`;

/** The id under which the log has a request: the one that it was answered with, which may not be the one sent. */
export function loggedId(answer: Answer, sent: string): string {
  return answer.header("x-request-id") ?? sent;
}
