import type { TokenPair } from "@svc/token-issuer";
import { expect } from "chai";
import request from "supertest";
import { demoPassword } from "../../src/demo-users.ts";

/** Signs a demo user in as a program does. */
export async function logIn(url: string, email: string, password = demoPassword): Promise<TokenPair> {
  const { status, headers, body } = await request(url).post("/login").send({ email, password });
  expect({ status, cache: headers["cache-control"] }).to.deep.equal({ status: 200, cache: "no-store" });
  return body as TokenPair;
}

/** The headers that a browser sends with a form of this origin. */
export const ownForm = { "Sec-Fetch-Site": "same-origin", Accept: "text/html" } as const;

/** Returns the cookies that a response sets, by name, without flags. */
export function cookiesOf(headers: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const lines = (headers["set-cookie"] ?? []) as readonly string[];
  return new Map(
    lines.map((line) => {
      const [name = "", value = ""] = (line.split(";")[0] ?? "").split("=");
      return [name, value];
    }),
  );
}

/** A signed-in browser, with the `Cookie` header that it sends. */
export interface Browser {
  readonly cookie: string;
  readonly session: string;
  readonly refresh: string;
}

/** Signs a demo user in with the form, as a browser with that `User-Agent`. */
export async function browse(url: string, email: string, userAgent = "a browser"): Promise<Browser> {
  const answer = await request(url)
    .post("/login")
    .set({ ...ownForm, "User-Agent": userAgent })
    .type("form")
    .send({ email, password: demoPassword });
  expect({ status: answer.status, to: answer.headers["location"] }, answer.text).to.deep.equal({
    status: 303,
    to: "/account",
  });
  return browserWith(cookiesOf(answer.headers));
}

/** Returns a browser with these cookies. */
export function browserWith(cookies: ReadonlyMap<string, string>): Browser {
  const [session = "", refresh = ""] = [cookies.get("session"), cookies.get("refresh")];
  return { session, refresh, cookie: `session=${session}; refresh=${refresh}` };
}
