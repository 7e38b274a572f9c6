import { createHash } from "node:crypto";
import { oidcLogin } from "@svc/oidc-login";
import { listen } from "@svc/test-support";
import { expect } from "chai";
import { attemptCookies } from "../src/attempt-cookie.ts";
import { type Browser, browser, start } from "@svc/test-support/openid";
import { type HostileProvider, hostileProvider } from "./support/hostile-provider.ts";
import { SECRET, serve, type Service } from "./support/service.ts";

const OTHER = "another cookie secret of at least 32 bytes, random";
// A name of this length does not occur in an encrypted value by chance.
const LONG_NAME = "a-provider-of-a-long-name";

describe("the login cookie", () => {
  let provider: HostileProvider;
  let service: Service;
  let now: number;

  beforeEach(async () => {
    now = Date.now();
    provider = await hostileProvider();
    const providers = { acme: provider.options, other: provider.options, [LONG_NAME]: provider.options };
    service = await serve({ providers, now: () => now });
  });
  afterEach(async () => {
    await service[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
  });

  const startUrl = (): string => `${service.url}/auth/acme/start`;
  const callback = (state: string, name = "acme"): string =>
    `${service.url}/auth/${name}/callback?code=c&state=${state}`;

  /** Returns the status of a callback for which the provider issues a valid ID token. */
  async function finish(from: Browser, { state, nonce }: { state: string; nonce: string }): Promise<number> {
    provider.issue({ nonce, iat: Math.floor(now / 1000), exp: Math.floor(now / 1000) + 900 });
    return (await from.open(callback(state))).status;
  }

  it("has a name derived from the state, and the attributes for development (OIDC-4, OIDC-5)", async () => {
    const ours = browser();
    const { state, response } = await start(ours, startUrl());
    const hash = createHash("sha256").update(state).digest("base64url").slice(0, 16);
    const [line, ...more] = response.headers.getSetCookie();
    expect(more).to.eql([]);
    expect(line?.replace(/=[\w-]+;/, "=value;")).to.equal(
      `svc_login_${hash}=value; Max-Age=600; Path=/; HttpOnly; SameSite=Lax`,
    );
    expect(response.headers.get("cache-control")).to.equal("no-store");
  });

  for (const [env, secure] of [
    ["local", false],
    ["dev", false],
    ["staging", true],
    ["prod", true],
    [undefined, true],
  ] as const) {
    it(`is ${secure ? "" : "not "}Secure with env ${env ?? "omitted"} (OIDC-4, OIDC-5)`, async () => {
      const google = {
        clientId: "c",
        clientSecret: "s",
        redirectUri: "https://a.example/auth/google/callback",
      };
      const fetch = () => Promise.reject(new Error("no network in this test"));
      await using login = oidcLogin({ providers: { google }, cookieSecret: SECRET, env, fetch });
      await using server = await listen((req, res) => login(req, res, () => res.end()));
      const ours = browser();
      await start(ours, `${server.url}/auth/google/start`);
      const flags = secure ? "; Secure" : "";
      expect(ours.setCookies[0]).to.match(
        new RegExp(
          `^${secure ? "__Host-" : ""}svc_login_[\\w-]{16}=[\\w-]+; Max-Age=600; Path=/; HttpOnly; SameSite=Lax${flags}$`,
        ),
      );
      // A browser deletes a cookie only if name, path and flags are the same.
      const { searchParams } = (await start(ours, `${server.url}/auth/google/start`)).location;
      const state = searchParams.get("state");
      const response = await ours.open(
        `${server.url}/auth/google/callback?error=access_denied&state=${state}`,
      );
      expect(response.headers.getSetCookie()[0]).to.match(
        new RegExp(`^[\\w-]+=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax${flags}$`),
      );
    });
  }

  it("contains exactly six fields, all encrypted (OIDC-6)", async () => {
    const ours = browser();
    const url = `${service.url}/auth/${LONG_NAME}/start?return_to=/orders-of-this-month`;
    const { state, nonce } = await start(ours, url);
    const [[name = "", value = ""] = []] = ours.cookies;
    const bytes = Buffer.from(value, "base64url").toString("latin1");
    for (const each of [state, nonce, LONG_NAME, "orders-of-this-month"]) {
      expect(value).not.to.contain(each);
      expect(bytes).not.to.contain(each);
    }
    const attempt = attemptCookies([SECRET], false).open(name, value);
    expect(Object.keys(attempt ?? {})).to.eql([
      "provider",
      "state",
      "nonce",
      "verifier",
      "return_to",
      "issued_at",
    ]);
    expect(attempt).to.include({ provider: LONG_NAME, state, nonce, return_to: "/orders-of-this-month" });
  });

  it("is rejected when a byte is changed or missing (OIDC-6)", async () => {
    const cookies = attemptCookies([SECRET], false);
    const attempt = { provider: "a", state: "s", nonce: "n", verifier: "v", return_to: "/", issued_at: 1 };
    const name = cookies.nameOf("s");
    const value = cookies.seal(name, attempt);
    expect(cookies.open(name, value)).to.eql(attempt);
    const bytes = Buffer.from(value, "base64url");
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(cookies.open(name, changed.toString("base64url")), `byte ${at}`).to.equal(undefined);
    }
    for (const length of [0, 1, 12, 27, 28, bytes.length - 1])
      expect(cookies.open(name, bytes.subarray(0, length).toString("base64url"))).to.equal(undefined);
    expect(cookies.open(cookies.nameOf("t"), value)).to.equal(undefined);
    expect(cookies.seal(name, attempt)).not.to.equal(value);
  });

  it("causes a 401 when it is tampered with, encrypted with another secret, or from another attempt (OIDC-12)", async () => {
    const stranger = attemptCookies([OTHER], false);
    const ours = browser();
    const first = await start(ours, startUrl());
    const second = await start(ours, startUrl());
    const names = [first, second].map(({ state }) => stranger.nameOf(state));
    const [name = "", otherName = ""] = names;
    const value = ours.cookies.get(name) ?? "";
    const attempt = {
      provider: "acme",
      state: first.state,
      nonce: first.nonce,
      verifier: "v",
      return_to: "/",
      issued_at: Math.floor(now / 1000),
    };
    const bad = [
      `${value}A`,
      value.slice(1),
      "",
      "%%%",
      "é",
      "a".repeat(9000),
      ours.cookies.get(otherName) ?? "",
      stranger.seal(name, attempt),
    ];
    for (const each of bad) {
      const headers = { cookie: `${name}=${Buffer.from(each).toString("latin1")}` };
      const response = await fetch(callback(first.state), { headers });
      expect([response.status, service.reason()]).to.eql([401, "no_login"]);
      expect(response.headers.getSetCookie()).to.have.length(1);
    }
    expect(provider.requests).not.to.include("/token");
  });

  it("causes a 401 when one provider's state is sent to another provider's callback (OIDC-12)", async () => {
    const ours = browser();
    const { state } = await start(ours, startUrl());
    const response = await ours.open(callback(state, "other"));
    expect([response.status, service.reason(), ours.cookies.size]).to.eql([401, "provider_mismatch", 0]);
    expect(provider.requests).not.to.include("/token");
  });

  it("expires after 600 s even if the browser keeps it (OIDC-5, OIDC-12)", async () => {
    for (const [seconds, status] of [
      [599, 200],
      [600, 401],
    ] as const) {
      const ours = browser();
      const attempt = await start(ours, startUrl());
      now += seconds * 1000;
      expect(await finish(ours, attempt)).to.equal(status);
    }
    expect(service.reason()).to.equal("login_expired");
  });

  it("is rejected when it is dated in the future (OIDC-12)", async () => {
    const ours = browser();
    const attempt = await start(ours, startUrl());
    now -= 60_000;
    expect([await finish(ours, attempt), service.reason()]).to.eql([401, "login_expired"]);
  });

  it("can be decrypted while its secret is in the list, and is rejected after that (OIDC-6)", async () => {
    const ours = browser();
    const attempt = await start(ours, startUrl());
    const providers = { acme: { ...provider.options, redirectUri: callback("").split("?")[0] ?? "" } };
    await using replaced = await serve({ providers, cookieSecret: [OTHER, SECRET], now: () => now });
    await using again = await serve({ providers, cookieSecret: [OTHER], now: () => now });
    provider.issue({ nonce: attempt.nonce });
    const path = `/auth/acme/callback?code=c&state=${attempt.state}`;
    const cookies = new Map(ours.cookies);
    expect((await ours.open(replaced.url + path)).status).to.equal(200);
    for (const [name, value] of cookies) ours.cookies.set(name, value);
    expect((await ours.open(again.url + path)).status).to.equal(401);
  });

  it("replaces the oldest of five live login cookies (OIDC-5)", async () => {
    const ours = browser();
    const states = [];
    for (let count = 0; count < 8; count++) {
      now += 1000;
      states.push((await start(ours, startUrl())).state);
      expect(ours.cookies.size).to.equal(Math.min(count + 1, 5));
    }
    const cookies = attemptCookies([SECRET], false);
    const names = states.slice(-5).map((state) => cookies.nameOf(state));
    expect([...ours.cookies.keys()].sort()).to.eql(names.sort());
  });

  it("replaces the cookie that the browser sends first when several are from the same second (OIDC-5)", async () => {
    const ours = browser();
    const first = await start(ours, startUrl());
    for (let count = 0; count < 5; count++) await start(ours, startUrl());
    const cookies = attemptCookies([SECRET], false);
    expect([ours.cookies.size, ours.cookies.has(cookies.nameOf(first.state))]).to.eql([5, false]);
  });

  it("is deleted at the next start if it cannot be decrypted, at most 20 cookies at once (OIDC-5)", async () => {
    const ours = browser();
    for (let count = 0; count < 50; count++)
      ours.cookies.set(`svc_login_${String(count).padStart(16, "0")}`, "junk");
    ours.cookies.set("session", "mine");
    ours.cookies.set("svc_login_short", "mine");
    for (const left of [31, 12, 3]) {
      await start(ours, startUrl());
      expect(
        [...ours.cookies.keys()].filter((name) => name !== "session" && name !== "svc_login_short").length,
      ).to.equal(left);
    }
    expect([ours.cookies.get("session"), ours.cookies.get("svc_login_short")]).to.eql(["mine", "mine"]);
  });

  it("stays below 8 KiB together with other login cookies, even with paths of the maximum length (OIDC-5)", async () => {
    const ours = browser();
    for (let count = 0; count < 8; count++) {
      now += 1000;
      await start(ours, `${startUrl()}?return_to=/${"a".repeat(1023)}`);
      const header = [...ours.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      expect(header.length).to.be.below(8000);
    }
    expect(ours.cookies.size).to.be.at.least(3);
  });
});
