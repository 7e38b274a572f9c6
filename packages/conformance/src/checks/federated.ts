import { createHash } from "node:crypto";
import type { Answer } from "../answer.ts";
import { check, type Check, type Need } from "../check.ts";
import type { Kit } from "../kit.ts";
import { show } from "../show.ts";
import { is, must, mustBe, notApplicable, statusIs } from "../verdict.ts";
import { type Cookie, type Jar, newJar, setCookies } from "./cookies.ts";

interface Start {
  readonly answer: Answer;
  /** The redirect target. */
  readonly to: URL | undefined;
  /** The cookie of this sign-in attempt. */
  readonly cookie: Cookie | undefined;
}

function routeOf(kit: Kit, step: "start" | "callback", provider?: string): string {
  return `/auth/${provider ?? kit.settings.probes.federated?.provider ?? ""}/${step}`;
}

async function start(kit: Kit, { query = "", jar }: { query?: string; jar?: Jar } = {}): Promise<Start> {
  const answer = await kit.get(`${routeOf(kit, "start")}${query}`, { headers: jar?.headers() ?? [] });
  const cookie = setCookies(answer).find(({ isDeleted }) => !isDeleted);
  jar?.take(answer);
  return { answer, to: URL.parse(answer.header("location") ?? "") ?? undefined, cookie };
}

/** Starts a sign-in once; all checks share it. */
function started(kit: Kit): Promise<Start> {
  return kit.once("start", () => start(kit));
}

/** Calls the callback with the error that the provider sends for a cancelled sign-in. */
function cancel(
  kit: Kit,
  { to }: Start,
  headers: Jar,
  state: string | null | undefined = to?.searchParams.get("state"),
): Promise<Answer> {
  const query = new URLSearchParams({ error: "access_denied", state: state ?? "" });
  return kit.get(`${routeOf(kit, "callback")}?${query.toString()}`, { headers: headers.headers() });
}

/** Whether the service runs in development, where a cookie need not be Secure. */
function isDevelopment(kit: Kit): Promise<boolean> {
  return kit.once("development", async () =>
    ["local", "dev"].includes(String((await kit.get("/health")).object?.["env"])),
  );
}

function isMissing({ status }: Answer): boolean {
  return status === 404 || status === 405;
}

/** Whether the callback route exists. */
async function hasCallback(kit: Kit): Promise<boolean> {
  return kit.once("callback", async () => !isMissing(await kit.get(routeOf(kit, "callback"))));
}

const needs: readonly Need[] = ["full", "probe:federated"];
const mostLive = 5;

/** Values of `return_to` that a browser would resolve to another site. */
const foreign = [
  "//svc-conformance.example/x",
  "https://svc-conformance.example/x",
  "/\\svc-conformance.example/x",
];

export const federatedChecks: readonly Check[] = [
  check("OIDC-1", { needs }, async function* (kit) {
    const { answer } = await started(kit);
    yield must(!isMissing(answer), `${answer.status} from ${routeOf(kit, "start")}`, "a route");
    yield must(await hasCallback(kit), `no ${routeOf(kit, "callback")}`, "a route");
  }),
  check("OIDC-2", { needs }, async function* (kit) {
    const { answer, to } = await started(kit);
    const { authorizationEndpoint } = kit.settings.probes.federated ?? {};
    const given = to?.searchParams;
    const endpoint = `${to?.origin}${to?.pathname}`;
    const back = URL.parse(given?.get("redirect_uri") ?? "")?.pathname;
    yield must(Math.floor(answer.status / 100) === 3, `${answer.status} from start`, "a redirect");
    yield mustBe(
      authorizationEndpoint === undefined || endpoint === authorizationEndpoint,
      { "a redirect to": endpoint },
      authorizationEndpoint ?? "",
    );
    yield must(given?.get("response_type") === "code", "a redirect without response_type code", "code");
    yield must(given?.has("client_id") === true, "a redirect without client_id", "a client_id");
    yield mustBe(
      back?.endsWith(routeOf(kit, "callback")) === true,
      { "redirect_uri with the path": back },
      routeOf(kit, "callback"),
    );
  }),
  check("OIDC-3", { needs }, async function* (kit) {
    const [{ answer, to }, other] = [await started(kit), await start(kit)];
    if (to === undefined) return notApplicable("see OIDC-2");
    const given = to.searchParams;
    const drawn = ["state", "nonce", "code_challenge"].flatMap((name) => {
      const [value, next] = [given.get(name), other.to?.searchParams.get(name)];
      return [
        must((value ?? "").length >= 16, `a redirect without ${name}`, name),
        must(value !== next, `two redirects with the same ${name}`, "a new value for every sign-in attempt"),
      ];
    });
    const method = given.get("code_challenge_method");
    yield statusIs(answer, 302);
    yield* drawn;
    yield is("code_challenge_method", method, "S256");
  }),
  check("OIDC-4", { needs }, async function* (kit) {
    const { cookie } = await started(kit);
    if (cookie === undefined)
      return must(false, "a start that sets no cookie", "state and nonce in a cookie");
    const { attributes } = cookie;
    const sameSite = attributes.get("samesite");
    yield must(attributes.has("httponly"), "a cookie that scripts can read", "HttpOnly");
    yield must(sameSite?.toLowerCase() === "lax", `SameSite ${show(sameSite)}`, "Lax");
    yield must(
      attributes.has("secure") || (await isDevelopment(kit)),
      "a cookie that is not Secure",
      "Secure outside development",
    );
  }),
  check("OIDC-5", { needs }, async function* (kit) {
    const { cookie, to } = await started(kit);
    const state = to?.searchParams.get("state");
    if (cookie === undefined) return notApplicable("see OIDC-4");
    if (!state) return notApplicable("see OIDC-3");
    const prefix = (await isDevelopment(kit)) ? "" : "__Host-";
    const hash = createHash("sha256").update(state).digest("base64url").slice(0, 16);
    const jar = newJar();
    for (let attempt = 0; attempt < mostLive + 2; attempt++) await start(kit, { jar });
    const { attributes, name } = cookie;
    yield must(name === `${prefix}svc_login_${hash}`, `a cookie ${show(name)}`, `${prefix}svc_login_<h>`);
    yield is("Path", attributes.get("path"), "/");
    yield is("Max-Age", attributes.get("max-age"), "600");
    yield must(jar.size <= mostLive, `${jar.size} live attempts`, `${mostLive} at most`);
  }),
  check("OIDC-6", { needs }, async (kit) => {
    const { cookie, to } = await started(kit);
    if (cookie === undefined) return notApplicable("see OIDC-4");
    const texts = [
      cookie.value,
      ...cookie.value.split(".").map((part) => Buffer.from(part, "base64url").toString()),
    ];
    const shown = ["state", "nonce"].find((name) => {
      const value = to?.searchParams.get(name);
      return value && texts.some((text) => text.includes(value));
    });
    return must(shown === undefined, `a cookie that shows the ${shown}`, "encrypted content");
  }),
  check("OIDC-7", { needs }, async function* (kit) {
    if (!(await hasCallback(kit))) return notApplicable("see OIDC-1");
    const jar = newJar();
    const [first, second] = [await start(kit, { jar }), await start(kit, { jar })];
    if (first.cookie === undefined || second.cookie === undefined) return notApplicable("see OIDC-4");
    const two = must(jar.size === 2, "a second sign-in attempt replaces the first", "two attempts");
    jar.take(await cancel(kit, first, jar));
    yield two;
    yield must(!jar.has(first.cookie.name), "the cookie of a failed attempt is not deleted", "deleted");
    yield must(
      jar.has(second.cookie.name),
      "the end of one attempt deletes the cookie of another",
      "not deleted",
    );
  }),
  check("OIDC-8", { needs }, async function* (kit) {
    const { to } = await started(kit);
    if (to === undefined) return notApplicable("see OIDC-2");
    for (const target of foreign) {
      const jar = newJar();
      const attempt = await start(kit, { query: `?return_to=${encodeURIComponent(target)}`, jar });
      const answers = [attempt.answer];
      if (await hasCallback(kit)) answers.push(await cancel(kit, attempt, jar));
      for (const answer of answers) {
        const location = answer.header("location") ?? "";
        const host = URL.parse(location.replaceAll("\\", "/"), "http://here.invalid/")?.host;
        yield mustBe(
          host !== "svc-conformance.example",
          { "a redirect to another site for return_to": target },
          "no redirect to another site",
        );
      }
    }
  }),
  check("OIDC-12", { needs }, async function* (kit) {
    const unknownProvider = kit.unique();
    const unknown = await Promise.all(
      (["start", "callback"] as const).map((step) => kit.get(routeOf(kit, step, unknownProvider))),
    );
    if (!(await hasCallback(kit))) return notApplicable("see OIDC-1");
    const jar = newJar();
    const attempt = await start(kit, { jar });
    const refused: readonly (readonly [string, Answer])[] = [
      ["without a sign-in attempt", await cancel(kit, attempt, newJar())],
      ["with a wrong state", await cancel(kit, attempt, jar, kit.unique())],
      ["with an error from the provider", await cancel(kit, attempt, jar)],
    ];
    yield* unknown.map((answer) => statusIs(answer, 404, "for an unknown provider"));
    yield* refused.map(([what, answer]) => statusIs(answer, 401, `for a callback ${what}`));
  }),
];
