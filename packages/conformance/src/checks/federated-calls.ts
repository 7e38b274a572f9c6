import type { Answer } from "../answer.ts";
import type { Kit } from "../kit.ts";
import { type Cookie, type Jar, setCookies } from "./cookies.ts";

export interface Start {
  readonly answer: Answer;
  /** The redirect target. */
  readonly to: URL | undefined;
  /** The cookie of this attempt. */
  readonly cookie: Cookie | undefined;
}

export function routeOf(kit: Kit, step: "start" | "callback", provider?: string): string {
  return `/auth/${provider ?? kit.settings.probes.federated?.provider ?? ""}/${step}`;
}

export async function start(
  kit: Kit,
  { query = "", jar }: { query?: string; jar?: Jar } = {},
): Promise<Start> {
  const answer = await kit.get(`${routeOf(kit, "start")}${query}`, { headers: jar?.headers() ?? [] });
  const cookie = setCookies(answer).find(({ isDeleted }) => !isDeleted);
  jar?.take(answer);
  return { answer, to: URL.parse(answer.header("location") ?? "") ?? undefined, cookie };
}

/** Starts one sign-in for all checks. */
export function started(kit: Kit): Promise<Start> {
  return kit.once("start", () => start(kit));
}

/** Calls the callback with the provider's error for a cancelled sign-in. */
export function cancel(
  kit: Kit,
  { to }: Start,
  headers: Jar,
  state: string | null | undefined = to?.searchParams.get("state"),
): Promise<Answer> {
  const query = new URLSearchParams({ error: "access_denied", state: state ?? "" });
  return kit.get(`${routeOf(kit, "callback")}?${query.toString()}`, { headers: headers.headers() });
}

/** Whether the service runs in development, where a cookie need not be Secure. */
export function isDevelopment(kit: Kit): Promise<boolean> {
  return kit.once("development", async () =>
    ["local", "dev"].includes(String((await kit.get("/health")).object?.["env"])),
  );
}

export function isMissing({ status }: Answer): boolean {
  return status === 404 || status === 405;
}

/** Whether the service has a callback. */
export async function hasCallback(kit: Kit): Promise<boolean> {
  return kit.once("callback", async () => !isMissing(await kit.get(routeOf(kit, "callback"))));
}
