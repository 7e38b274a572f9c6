import { type RunningSample, signToken } from "@svc/test-support";
import { browser, signInThere } from "@svc/test-support/openid";
import { expect } from "chai";
import { bearer, get, post, problem, unauthorized } from "./sample-requests.ts";
import {
  browserAndIssuer,
  type Expectation,
  keysAndRedis,
  sharedSecret,
  signInProvider,
} from "./sample-surroundings.ts";

export interface Pair {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
}

/** Sends JSON, expects a token pair in the response, and returns the pair. */
export async function pairFrom(
  sample: RunningSample,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Pair> {
  const answer = await post(sample, path, JSON.stringify(body), "application/json", headers);
  expect([path, answer.status]).to.deep.equal([path, 200]);
  const pair = (await answer.json()) as Pair;
  expect(pair).to.include({ token_type: "Bearer", expires_in: 900 });
  return pair;
}

export async function refresh(sample: RunningSample, { refresh_token }: Pair): Promise<Response> {
  return post(sample, "/auth/refresh", JSON.stringify({ refresh_token }));
}

/** Signs in as ann, refreshes and signs out, and expects the response to each request. */
async function wholeSession(sample: RunningSample): Promise<void> {
  const wrong = { name: "ann", password: "wrong" };
  expect((await post(sample, "/login", JSON.stringify(wrong))).status).to.equal(401);
  expect((await post(sample, "/login", "{}")).status).to.equal(401);
  const first = await pairFrom(sample, "/login", { name: "ann", password: "correct horse" });
  const orders = async (pair: Pair): Promise<Response> => get(sample, "/orders", bearer(pair.access_token));
  expect(await (await orders(first)).json()).to.deep.equal({ for: "ann" });
  const second = await pairFrom(sample, "/auth/refresh", first);
  await problem(await refresh(sample, first), 401, "this refresh token has already been rotated");
  expect((await orders(second)).status).to.equal(200);
  const out = await post(sample, "/auth/logout", "", "text/plain", bearer(second.access_token));
  expect(out.status).to.equal(204);
  for (const pair of [first, second]) await unauthorized(await orders(pair));
  await problem(await refresh(sample, second), 401, "this session has been revoked");
}

/** Signs in at the provider, starting from a link of the sample. */
async function signedIn(sample: RunningSample, link: string): Promise<Pair> {
  const url = await sample.url;
  const here = browser();
  const start = await here.open(`${url}${link}`);
  const back = await signInThere(start.headers.get("location") ?? "");
  const answer = await here.open(back.replace("https://orders.example", url));
  expect(answer.status).to.equal(200);
  return (await answer.json()) as Pair;
}

/** The expected behaviour of the session samples in docs/adopt-one-package.md. */
export const sessions: readonly Expectation[] = [
  {
    shows: "ISS-1 ISS-5 REF-1 REF-9 REV-10 issue token pairs for the application's own users",
    env: { TOKEN_SECRET: sharedSecret },
    async check(sample) {
      await wholeSession(sample);
      const login = { name: "ann", password: "correct horse" };
      const here = await pairFrom(sample, "/login", login);
      const elsewhere = await pairFrom(sample, "/login", login);
      const changed = await pairFrom(sample, "/password", { password: "another" }, bearer(here.access_token));
      for (const { access_token } of [here, elsewhere])
        await unauthorized(await get(sample, "/orders", bearer(access_token)));
      await problem(await refresh(sample, elsewhere), 401, "this session has been revoked");
      expect((await get(sample, "/orders", bearer(changed.access_token))).status).to.equal(200);
      await pairFrom(sample, "/auth/refresh", changed);
      expect((await post(sample, "/login", JSON.stringify(login))).status).to.equal(401);
      expect((await get(sample, "/.well-known/jwks.json")).status).to.equal(404);
    },
  },
  {
    shows: "ISS-15 ISS-16 RDY-22 issue token pairs in prod, with Redis and a file of signing keys",
    redis: true,
    around: keysAndRedis,
    async check(sample) {
      await wholeSession(sample);
      const { checks } = (await (await get(sample, "/ready")).json()) as {
        readonly checks: Readonly<Record<string, { readonly healthy: boolean }>>;
      };
      expect(checks).to.have.all.keys("auth", "signing-keys", "cache");
      expect(Object.values(checks).map(({ healthy }) => healthy)).to.deep.equal([true, true, true]);
      const { keys } = (await (await get(sample, "/.well-known/jwks.json")).json()) as { keys: object[] };
      expect(keys).to.have.lengthOf(1);
      expect(keys[0]).to.include({ alg: "ES256" }).and.not.have.property("d");
    },
  },
  {
    shows: "REF-1 REF-5 implement a client that refreshes once for concurrent calls",
    around: browserAndIssuer,
    async check(sample, around) {
      const { code, stdout, stderr } = await sample.ended;
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: "" });
      expect(stdout.trim().split("\n")).to.deep.equal([
        "without [ 401 ]",
        "together [ 200, 200, 200 ] [ 200 ]",
        "again [ 200, 200 ]",
        "stolen [ 401 ] null",
      ]);
      expect(around?.asked?.filter((path) => path === "/auth/refresh")).to.have.lengthOf(3);
    },
  },
  {
    shows: "OIDC-1 OIDC-10 OIDC-21 create a session for a user who signs in at a provider",
    around: signInProvider,
    async check(sample) {
      const signIn = async (): Promise<Pair> => signedIn(sample, "/auth/acme/start?return_to=/orders");
      const [first, again] = [await signIn(), await signIn()];
      for (const { access_token } of [first, again]) {
        const profile = await get(sample, "/profile", bearer(access_token));
        expect(await profile.json()).to.deep.equal({ email: "ada@example.com" });
      }
      const who = async ({ access_token }: Pair): Promise<unknown> =>
        ((await (await get(sample, "/auth/me", bearer(access_token))).json()) as { subject: string }).subject;
      expect(await who(first)).to.equal(await who(again));
      await pairFrom(sample, "/auth/refresh", first);
    },
  },
];

/** The expected behaviour of the session samples in docs/migrate.md. */
export const toSessions: readonly Expectation[] = [
  {
    shows: "ISS-6 REF-12 issue token pairs while tokens of jwt.sign() stay valid until they expire",
    env: { TOKEN_SECRET: sharedSecret },
    async check(sample) {
      const orders = async (token: string): Promise<Response> => get(sample, "/orders", bearer(token));
      const signIn = await pairFrom(sample, "/sign-in", {});
      const { token } = signIn as Pair & { readonly token: string };
      const pair = await pairFrom(sample, "/auth/refresh", signIn);
      const month = { exp: Math.floor(Date.now() / 1000) + 30 * 86_400 };
      const old = signToken({ sub: "ada", aud: "orders", ...month }, sharedSecret);
      for (const each of [token, pair.access_token, old]) {
        expect(await (await orders(each)).json()).to.deep.equal({ caller: "ada" });
      }
      const out = async (each: string): Promise<number> =>
        (await post(sample, "/auth/logout", "", "text/plain", bearer(each))).status;
      expect([await out(old), await out(token)]).to.deep.equal([204, 204]);
      expect((await orders(old)).status).to.equal(200);
      for (const each of [token, pair.access_token]) await unauthorized(await orders(each));
      const own = { sub: "ada", aud: "orders", typ: "refresh" };
      const sent = async (claims: object): Promise<Response> => {
        const refresh_token = signToken({ ...own, ...claims }, sharedSecret);
        return post(sample, "/auth/refresh", JSON.stringify({ refresh_token }));
      };
      await problem(await sent({}), 401, "refresh token has no id");
      const nearly = { jti: "j", fam: "f" };
      await problem(await sent(nearly), 401, "this refresh token predates scope-preserving rotation");
      await unauthorized(await orders(signToken({ aud: "orders" }, sharedSecret, { kid: "mine" })));
    },
  },
  {
    shows: "ISS-2 exchange an express-session session for a token pair once",
    env: { TOKEN_SECRET: sharedSecret },
    async check(sample) {
      const session = { "X-Session": "s-1" };
      const pair = await pairFrom(sample, "/login/exchange", {}, session);
      const orders = await get(sample, "/orders", bearer(pair.access_token));
      expect(await orders.json()).to.deep.equal({ for: "ann" });
      const [, claims = ""] = pair.access_token.split(".");
      expect(JSON.parse(Buffer.from(claims, "base64url").toString())).to.include({
        auth_time: 1_764_000_000,
      });
      await unauthorized(await post(sample, "/login/exchange", "{}", "application/json", session));
      await unauthorized(await post(sample, "/login/exchange", "{}"));
    },
  },
  {
    shows: "OIDC-1 OIDC-10 OIDC-19 replace a passport strategy by sign-in at a provider",
    around: signInProvider,
    async check(sample) {
      const link = await fetch(`${await sample.url}/auth/google`, { redirect: "manual" });
      expect(link.headers.get("location")).to.equal("/auth/google/start");
      const pair = await signedIn(sample, "/auth/google/start");
      const profile = await get(sample, "/profile", bearer(pair.access_token));
      expect(await profile.json()).to.deep.equal({ name: "The ada" });
    },
  },
];
