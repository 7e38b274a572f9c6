import { type Answer, NoAnswer } from "../answer.ts";
import { must, type Verdict } from "../check.ts";
import { grant } from "../grant.ts";
import type { Kit } from "../kit.ts";
import { findRoutes, type NamedRoute } from "../openapi.ts";
import { requestOf, withExtra } from "../requests.ts";
import { anonymously } from "./tenants.ts";

/** A request that must fail, and its answer. */
export interface Sample {
  readonly what: string;
  readonly path: string;
  readonly requestId: string;
  readonly answer: Answer;
  /** The refusal expected from `/openapi.json`. Default: none; the sample does not come from that document. */
  readonly named?: Expectation | undefined;
}

type Extra = NonNullable<Parameters<typeof withExtra>[1]>;

/** A request that must fail and got no answer. */
export interface Unanswered {
  readonly what: string;
  readonly reason: NoAnswer;
}

/** Sends requests that fail for every reason that the probes allow; once for all checks. */
function attempts(kit: Kit): Promise<readonly (Sample | Unanswered)[]> {
  return kit.once("samples", async () => {
    const [routes, anonymous] = await Promise.all([findRoutes(kit), anonymously(kit)]);
    return Promise.all(failing(kit, routes, anonymous).map((make) => make()));
  });
}

/** Returns the answered ones. */
export async function samples(kit: Kit): Promise<readonly Sample[]> {
  return (await attempts(kit)).filter((each): each is Sample => "answer" in each);
}

/** Returns the unanswered ones, except a body that is too long, because the contract sets no limit. */
export async function unanswered(kit: Kit): Promise<readonly Unanswered[]> {
  const all = await attempts(kit);
  return all.filter((each): each is Unanswered => "reason" in each && each.what !== tooLong);
}

/** Returns the sample of one kind; undefined without its probe. @throws NoAnswer */
export async function sampleOf(kit: Kit, what: string): Promise<Sample | undefined> {
  const found = (await attempts(kit)).find((each) => each.what === what);
  if (found !== undefined && "reason" in found) throw found.reason;
  return found;
}

export const tooLong = "a body that is too long";

/** Returns the samples that failed with one of these statuses. */
export async function samplesOf(kit: Kit, ...statuses: readonly number[]): Promise<readonly Sample[]> {
  return (await samples(kit)).filter(({ answer }) => statuses.includes(answer.status));
}

/** Returns the samples that failed. */
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
    add("a logout without a caller", "POST /auth/logout");
  }
  for (const route of probesOf(kit, routes)) {
    const isAnonymous = route.named.status === 401;
    add(route.what, route.request, isAnonymous ? anonymous : { token: grant(kit) }, route.named);
  }
  return made;
}

/** The statuses for which the contract itself requires a request id; the house adds those of the edge. */
export const ordinary: readonly number[] = [401, 403, 404, 405, 500];

/** A part of the malformed body that no answer may repeat. */
export const echoMark = "svc-conformance-mark";
const malformed = `{"a": "${echoMark}", }`;

/** Returns the id of a request in the log: that of its answer, which may differ from the one sent. */
export function loggedId(answer: Answer, sent: string): string {
  return answer.header("x-request-id") ?? sent;
}

/** Judges the status of the samples from `/openapi.json`. */
export async function eachNamed(kit: Kit, status: Expectation["status"]): Promise<readonly Verdict[]> {
  return (await namedSamples(kit, status)).map(({ what, answer }) =>
    must(answer.status === status, `${answer.status} for ${what}`, String(status)),
  );
}

/** Returns the samples of `/openapi.json` whose refusal has the expected status or no other explanation. */
async function namedSamples(kit: Kit, status: Expectation["status"]): Promise<readonly Sample[]> {
  return (await samples(kit)).filter(
    ({ named, answer }) => named?.status === status && !isOther(status, answer.status),
  );
}

/**
 * Whether a status does not show how the service keeps the rule. A document may list a missing route and omit an
 * existing one: a method of a path, or a route that matches every path below it.
 */
function isOther(expected: Expectation["status"], status: number): boolean {
  if (expected !== 401 && status < 400) return true;
  return refusals[expected].includes(status);
}

/** Statuses with which a service may refuse a request without a body. */
const ofBodies = [400, 411, 415, 422];

const refusals: Readonly<Record<Expectation["status"], readonly number[]>> = {
  401: [...ofBodies, 404, 405, 429],
  404: [401, 403, 405, 429],
  405: [...ofBodies, 401, 403, 429],
};

/** The expected status of a refusal, and the documented methods of its path. */
interface Expectation {
  readonly status: 401 | 404 | 405;
  readonly methods: ReadonlySet<string>;
}

/** A request that must be refused, for a route of `/openapi.json` or for one beside it. */
interface NamedProbe {
  readonly what: string;
  readonly request: { readonly method: string; readonly path: string };
  readonly named: Expectation;
}

/** Methods whose refusals have a body. GET comes first, because it changes nothing. */
const probedMethods = ["GET", "PUT", "PATCH", "DELETE", "POST"];
/** The number of routes below which unknown paths are requested. */
const mostUnknown = 10;

/** Returns requests with an unsupported method, without a caller, and for unknown paths. */
function probesOf(kit: Kit, routes: readonly NamedRoute[]): readonly NamedProbe[] {
  const byPath = [...new Map(routes.map((route) => [route.path, route])).values()];
  const byMethod = byPath.flatMap(({ path, methods }) => {
    const method = probedMethods.find((each) => !methods.has(each));
    return method === undefined ? [] : [probe(method, path, { status: 405, methods })];
  });
  const guarded = kit.has("auth")
    ? routes.filter(({ isGuarded, method }) => isGuarded && probedMethods.includes(method))
    : [];
  return [
    ...byMethod,
    ...guarded.map(({ method, path, methods }) =>
      probe(method, path, { status: 401, methods }, "without a caller"),
    ),
    ...byPath.slice(0, mostUnknown).map(({ path }) =>
      // Two segments deeper, because a route with a parameter matches any single one.
      probe("GET", `${path.replace(/\/$/, "")}/${kit.unique()}/${kit.unique()}/x`, {
        status: 404,
        methods: new Set(),
      }),
    ),
  ];
}

const notNamed = "which /openapi.json does not name";

function probe(method: string, path: string, named: Expectation, how: string = notNamed): NamedProbe {
  return { what: `${method} ${path}${how === notNamed ? "," : ""} ${how}`, request: { method, path }, named };
}
