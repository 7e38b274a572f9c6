import { type Answer, NoAnswer, orReason } from "../answer.ts";
import type { Verdict } from "../conformance-report.ts";
import { grant } from "../grant.ts";
import type { Kit } from "../kit.ts";
import { findRoutes, type NamedRoute } from "../openapi.ts";
import type { Probe } from "../option-values.ts";
import { type Extra, requestOf } from "../requests.ts";
import { must } from "../verdict.ts";
import { anonymously } from "./tenants.ts";

/** A request that must fail, and its response. */
export interface Sample {
  readonly what: string;
  readonly path: string;
  readonly requestId: string;
  readonly answer: Answer;
  /** The refusal that `/openapi.json` implies. Default: none, because the sample does not come from that document. */
  readonly named?: Expectation | undefined;
}

/** A request that must fail and got no response. */
export interface Unanswered {
  readonly what: string;
  readonly reason: NoAnswer;
}

/** Sends requests that fail for every reason that the probes allow; all checks share the responses. */
function attempts(kit: Kit): Promise<readonly (Sample | Unanswered)[]> {
  return kit.once("samples", async () => {
    const [routes, anonymous] = await Promise.all([findRoutes(kit), anonymously(kit)]);
    const all = failing(kit, routes, anonymous);
    return Promise.all(all.map((each) => send(kit, each)));
  });
}

/** Returns the attempts that got a response. */
export async function samples(kit: Kit): Promise<readonly Sample[]> {
  return (await attempts(kit)).filter((each): each is Sample => "answer" in each);
}

/**
 * Returns the attempts that got no response. Excludes the body that is too long: a service may close the connection while it
 * still receives the body, and LIM-1 judges it.
 */
export async function unanswered(kit: Kit): Promise<readonly Unanswered[]> {
  const all = await attempts(kit);
  return all.filter((each): each is Unanswered => "reason" in each && each.what !== tooLong);
}

/**
 * Returns the sample with this description; undefined if the probe that the sample needs is not set.
 * @throws NoAnswer if the service did not respond
 */
export async function sampleOf(kit: Kit, what: string): Promise<Sample | undefined> {
  const found = (await attempts(kit)).find((each) => each.what === what);
  if (found !== undefined && "reason" in found) throw found.reason;
  return found;
}

export const tooLong = "a body that is too long";

/** Returns the samples whose response has one of these statuses. */
export async function samplesOf(kit: Kit, ...statuses: readonly number[]): Promise<readonly Sample[]> {
  return (await samples(kit)).filter(({ answer }) => statuses.includes(answer.status));
}

/** Returns the samples whose response is an error. */
export async function failures(kit: Kit): Promise<readonly Sample[]> {
  return (await samples(kit)).filter(({ answer }) => answer.status >= 400);
}

/** A request that must fail. */
interface Attempt {
  readonly what: string;
  readonly probe: Probe;
  readonly extra?: Extra | undefined;
  readonly named?: Expectation | undefined;
}

async function send(kit: Kit, { what, probe, extra = {}, named }: Attempt): Promise<Sample | Unanswered> {
  const requestId = kit.unique();
  const { path } = requestOf(probe);
  const asked = kit.ask(probe, {
    ...extra,
    path: `${path}${path.includes("?") ? "&" : "?"}conformance=1`,
    headers: [...(extra.headers ?? []), ["X-Request-ID", requestId]],
  });
  const answer = await orReason(asked);
  if (answer instanceof NoAnswer) return { what, reason: answer };
  return { what, path: path.split("?", 1)[0] ?? path, requestId, answer, named };
}

/** Returns requests that fail for every reason that the probes allow. */
function failing(kit: Kit, routes: readonly NamedRoute[], anonymous: Extra | undefined): readonly Attempt[] {
  const { probes, limits } = kit.settings;
  const granted = { token: grant(kit) };
  const hasKeys = granted.token !== undefined;
  const bare = { token: hasKeys ? kit.tokens.mint() : undefined };
  const json = probes.json && requestOf(probes.json);
  const call = json && { path: json.path, method: json.method === "GET" ? "POST" : json.method };
  const typed = (type: string, body: string): Extra => ({
    ...granted,
    headers: [["Content-Type", type]],
    body,
  });
  const long = JSON.stringify({ text: "x".repeat(limits.maxBodyBytes) });
  const session = probes.session && { method: "POST", path: "/auth/refresh" };
  const all: readonly (readonly [what: string, probe: Probe | undefined, extra?: Extra | undefined])[] = [
    ["an unknown path", `/${kit.unique()}`, bare],
    ["an unsupported method", "POST /health", bare],
    ["an exception", probes.failing?.request, granted],
    ["malformed JSON", call, typed("application/json", malformed)],
    ["a body with an unsupported type", call, typed("text/csv", "a,b")],
    [tooLong, call, typed("application/json", long)],
    ["an invalid body", probes.invalid?.request, granted],
    ["no caller", kit.has("auth") ? probes.protected : undefined, anonymous],
    ["a caller without the scopes", hasKeys ? probes.scoped?.request : undefined, bare],
    ["a caller without the role", hasKeys ? probes.role?.request : undefined, bare],
    ["a refresh that is refused", session && { ...session, body: { refresh_token: "not-a-token" } }],
    ["a logout without a caller", session && "POST /auth/logout"],
  ];
  return [
    ...all.flatMap(([what, probe, extra]) => (probe === undefined ? [] : [{ what, probe, extra }])),
    ...namedAttempts(kit, routes, anonymous, granted),
  ];
}

/** Statuses for which the contract itself requires a request id. The conventions also require one for other statuses. */
export const ordinary: readonly number[] = [401, 403, 404, 405, 500];

/** A string in the malformed body that no response may repeat. */
export const echoMark = "svc-conformance-mark";
const malformed = `{"a": "${echoMark}", }`;

/** Checks the status of the samples that come from `/openapi.json`. */
export async function eachNamed(kit: Kit, status: Expectation["status"]): Promise<readonly Verdict[]> {
  return (await namedSamples(kit, status)).map(({ what, answer }) =>
    must(answer.status === status, `${answer.status} for ${what}`, String(status)),
  );
}

/**
 * Returns the samples from `/openapi.json` with this expected status, except those whose actual status has another
 * explanation.
 */
async function namedSamples(kit: Kit, status: Expectation["status"]): Promise<readonly Sample[]> {
  return (await samples(kit)).filter(
    ({ named, answer }) => named?.status === status && !isOther(status, answer.status),
  );
}

/**
 * Whether something other than a violation of the rule explains the actual status: the service had another reason to reject
 * the request, or the document is wrong, because it lists a route that does not exist or omits a method or a route.
 */
function isOther(expected: Expectation["status"], status: number): boolean {
  if (expected !== 401 && status < 400) return true;
  return refusals[expected].includes(status);
}

/** Statuses with which a service may refuse a request because its body is missing. */
const ofBodies = [400, 411, 415, 422];

const refusals: Readonly<Record<Expectation["status"], readonly number[]>> = {
  401: [...ofBodies, 404, 405, 429],
  404: [401, 403, 405, 429],
  405: [...ofBodies, 401, 403, 429],
};

/** The expected status, and the documented methods of the path. */
interface Expectation {
  readonly status: 401 | 404 | 405;
  readonly methods: ReadonlySet<string>;
}

/** Methods whose error responses have a body. GET comes first because it changes nothing. */
const probedMethods = ["GET", "PUT", "PATCH", "DELETE", "POST"];
/** Maximum number of routes below which unknown paths are requested. */
const mostUnknown = 10;

/**
 * Returns requests derived from the routes in `/openapi.json`: with an unsupported method, without a caller, and for
 * unknown paths.
 */
function namedAttempts(
  kit: Kit,
  routes: readonly NamedRoute[],
  anonymous: Extra | undefined,
  granted: Extra,
): readonly Attempt[] {
  const byPath = [...new Map(routes.map((route) => [route.path, route])).values()];
  const byMethod = byPath.flatMap(({ path, methods }) => {
    const method = probedMethods.find((each) => !methods.has(each));
    return method === undefined ? [] : [notNamed(method, path, { status: 405, methods }, granted)];
  });
  const guarded = kit.has("auth")
    ? routes.filter(({ isGuarded, method }) => isGuarded && probedMethods.includes(method))
    : [];
  return [
    ...byMethod,
    ...guarded.map(({ method, path, methods }): Attempt => ({
      what: `${method} ${path} without a caller`,
      probe: { method, path },
      extra: anonymous,
      named: { status: 401, methods },
    })),
    ...byPath.slice(0, mostUnknown).map(({ path }) => {
      // Add several segments, because a route with a parameter matches any single segment.
      const deeper = `${path.replace(/\/$/, "")}/${kit.unique()}/${kit.unique()}/x`;
      return notNamed("GET", deeper, { status: 404, methods: new Set() }, granted);
    }),
  ];
}

function notNamed(method: string, path: string, named: Expectation, extra: Extra): Attempt {
  return {
    what: `${method} ${path}, which /openapi.json does not list`,
    probe: { method, path },
    extra,
    named,
  };
}
