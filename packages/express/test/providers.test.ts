import { randomBytes } from "node:crypto";
import { requireScopes } from "@svc/jwt-auth";
import { expressMajors } from "@svc/test-support";
import {
  type Browser,
  browser,
  type RealProvider,
  realProvider,
  signInThere,
} from "@svc/test-support/openid";
import { expect } from "chai";
import type { ErrorRequestHandler } from "express";
import request from "supertest";
import type { AuthCode } from "@svc/express";
import { runChild } from "./support/child.ts";
import {
  makeService,
  startService,
  type TestService,
  type TestServiceOptions,
} from "./support/test-service.ts";

// This is the public address; the tests send requests directly to a replica.
const site = "http://shop.example:8000";
const draw = (): string => randomBytes(32).toString("base64url");
const env = { SVC_AUTH_SECRET: draw(), ACME_SECRET: "secret-of-the-client" };
const plugins = '[plugins]\nenabled = ["observability", "metrics", "auth"]\n';
const auth = `${plugins}[plugin.auth]\nmode = "secret"\nalgorithms = ["HS256"]\naudience = "shop"\n`;

const client = (name: string, more = ""): string => `[plugin.auth.providers.${name}]
client_id = "client-1"
client_secret = "\${ACME_SECRET}"
redirect_uri = "${site}/auth/${name}/callback"
${more}
`;

const places = ({ options }: RealProvider): string => `issuer = "${options.issuer}"
jwks_uri = "${options.jwksUri}"
authorization_endpoint = "${options.authorizationEndpoint}"
token_endpoint = "${options.tokenEndpoint}"
`;

async function refusal(options: TestServiceOptions): Promise<string> {
  try {
    await makeService(options);
  } catch (error) {
    return String(error);
  }
  return expect.fail("it started");
}

async function readyOf({ url }: TestService): Promise<Readonly<Record<string, unknown>>> {
  const { checks } = (await request(url).get("/ready")).body as { checks: Record<string, object> };
  return { ...checks["oidc-login"] };
}

/**
 * Starts a sign-in at `from`, signs in at the provider, and completes the sign-in at `to`, by default the same replica.
 */
async function signIn(
  from: TestService,
  { name = "acme", at = browser(), to = from }: { name?: string; at?: Browser; to?: TestService } = {},
): Promise<Response> {
  const start = await at.open(`${from.url}/auth/${name}/start?return_to=/orders`);
  expect(start.status).to.equal(302);
  const back = await signInThere(start.headers.get("location") ?? "");
  expect(back).to.match(new RegExp(`^${site}/auth/${name}/callback\\?`));
  return at.open(back.replace(site, to.url));
}

describe("the plugin `auth` with providers", function () {
  this.timeout(60_000);
  let provider: RealProvider;
  before(async () => {
    provider = await realProvider();
    provider.accept(`${site}/auth/acme/callback`, `${site}/auth/github/callback`);
  });
  after(() => provider[Symbol.asyncDispose]());

  const acme = (more = ""): string => client("acme", places(provider) + more);

  for (const [name, express] of Object.entries(expressMajors)) {
    it(`OIDC-1 OIDC-10 OIDC-15 creates a session for a person who signs in with a configured provider (${name})`, async () => {
      const toml = `${auth}issue_tokens = true\n${acme('authorization_parameters = { ui_locales = "de" }')}`;
      const onIdentity: AuthCode["onIdentity"] = ({ federated_id, email, return_to }) => {
        seen.push([federated_id, email, return_to]);
        return test.service.issuer?.issuePair({ subject: federated_id, scopes: ["orders:read"] });
      };
      const seen: unknown[] = [];
      await using test: TestService = await startService({
        toml,
        env,
        app: express(),
        auth: { onIdentity },
        routes(app) {
          app.get("/orders", requireScopes("orders:read"), (_req, res) => void res.json({ orders: [] }));
        },
      });
      const answer = await signIn(test);
      expect(answer.status).to.equal(200);
      expect(seen).to.deep.equal([["acme:ada", "ada@example.com", "/orders"]]);
      const { access_token, refresh_token } = (await answer.json()) as Record<string, string>;
      const orders = await request(test.url).get("/orders").set("Authorization", `Bearer ${access_token}`);
      expect(orders.status).to.equal(200);
      expect((await request(test.url).post("/auth/refresh").send({ refresh_token })).status).to.equal(200);
      // Other names, methods and paths are not routes of the provider.
      expect((await request(test.url).get("/auth/other/start")).status).to.equal(404);
      expect((await request(test.url).post("/auth/acme/start")).status).to.equal(405);
      expect((await request(test.url).get("/auth/acme/else")).status).to.equal(404);
    });
  }

  for (const [name, express] of Object.entries(expressMajors)) {
    it(`OIDC-12 leaves routes with other names below /auth to the application (${name})`, async () => {
      const page: ErrorRequestHandler = (error: { status: number }, _req, res, _next) =>
        void res.status(error.status).send("a page of our own");
      const { service } = await makeService({
        toml: auth + client("google"),
        env,
        app: express(),
        routes(app) {
          app.get("/auth/sms/start", (_req, res) => void res.json({ own: "start" }));
          app.get("/auth/old/callback", (_req, res) => void res.json({ own: "callback" }));
          app.get("/auth/google/start", (_req, res) => void res.json({ own: "never" }));
          app.use(page);
        },
      });
      expect((await request(service.app).get("/auth/sms/start")).body).to.deep.equal({ own: "start" });
      expect((await request(service.app).get("/auth/old/callback?code=1")).body).to.deep.equal({
        own: "callback",
      });
      expect((await request(service.app).get("/auth/google/start")).status).to.equal(302);
      // The refusal of an unknown provider also reaches the application's error handler.
      const { status, text } = await request(service.app).get("/auth/nobody/start");
      expect([status, text]).to.deep.equal([404, "a page of our own"]);
      await service.stop();
      const bare = await makeService({ toml: auth + client("google"), env, app: express() });
      const { body } = await request(bare.service.app).get("/auth/nobody/start");
      expect(body).to.include({ status: 404, detail: "there is no such sign-in provider" });
      await bare.service.stop();
    });
  }

  it("warns when `onIdentity` or `onAccessToken` is missing, and when redirect_uri is not a route of the service", async () => {
    const toml = auth + client("github").replace("/auth/github/callback", "/github/back");
    const { service, lines } = await makeService({ toml, env });
    await service.stop();
    const warnings = lines.filter(({ level }) => level === "warn").map(({ message }) => message);
    expect(warnings).to.deep.equal([
      "the service has no auth.onIdentity: every callback will return 500",
      "the service has no auth.onAccessToken: sign-ins with this provider will be refused",
      "plugin.auth.providers.github.redirect_uri does not end in /<provider>/callback, which is the route of this service",
    ]);
  });

  it("SYS-5 RDY-1 MET-6 LOG-1 shows its providers in /info, /ready and the metrics, and logs no secret", async () => {
    const onIdentity = (): object => ({ ok: true });
    await using test = await startService({ toml: auth + acme(), env, auth: { onIdentity } });
    const answer = await signIn(test);
    expect(await answer.json()).to.deep.equal({ ok: true });
    const check = await readyOf(test);
    expect(check).to.include({ healthy: true, critical: false });
    expect(check["detail"]).to.match(/^acme: (?!no sign-in yet)/);
    const info = await request(test.url).get("/info");
    const { providers, plugins: named } = info.body as { providers: string[]; plugins: { name: string }[] };
    expect(providers).to.deep.equal(["acme"]);
    expect(named.map(({ name }) => name)).to.deep.equal(["observability", "metrics", "auth"]);
    const { text } = await request(test.url).get("/metrics");
    expect(text).to.contain('endpoint="/auth/acme/start"').and.to.contain('endpoint="/auth/acme/callback"');
    const code = new URL(answer.url).searchParams.get("code") ?? expect.fail("no code");
    const log = JSON.stringify(test.lines);
    for (const secret of [env.ACME_SECRET, env.SVC_AUTH_SECRET, code]) expect(log).not.to.contain(secret);
  });

  it("OIDC-16 OIDC-15 requires only three keys for a built-in provider", async () => {
    const toml = auth + ["google", "microsoft", "github"].map((name) => client(name)).join("");
    await using test = await startService({ toml, env, auth: { onIdentity: () => ({}) } });
    const { body } = await request(test.url).get("/info");
    expect((body as { providers: string[] }).providers).to.deep.equal(["google", "microsoft", "github"]);
    expect((await readyOf(test))["detail"]).to.equal(
      "google: no sign-in yet; microsoft: no sign-in yet; github: needs no keys",
    );
    const { status, headers } = await request(test.url).get("/auth/github/start");
    expect(status).to.equal(302);
    const location = new URL(headers["location"] ?? "");
    expect(location.origin + location.pathname).to.equal("https://github.com/login/oauth/authorize");
    expect(location.searchParams.get("redirect_uri")).to.equal(`${site}/auth/github/callback`);
    const warning = await test.line(({ message }) => String(message).includes("onAccessToken"));
    expect(warning).to.include({ level: "warn", provider: "github" });
  });

  it("OIDC-18 OIDC-15 takes the identity from `onAccessToken` for a provider without ID tokens, with all optional keys set", async () => {
    const { issuer, authorizationEndpoint, tokenEndpoint } = provider.options;
    const keys = `scopes = ["openid"]\nissuer = "${issuer}"\nauthorization_endpoint = "${authorizationEndpoint}"\ntoken_endpoint = "${tokenEndpoint}"
client_authentication = "client_secret_post"\nauthorization_parameters = { prompt = "login" }\niss_required = false\nalgorithms = ["RS256"]`;
    const code: AuthCode = {
      onIdentity: ({ federated_id }) => ({ federated_id }),
      onAccessToken: (token, name) => ({ subject: `${name}-${token.length > 0}` }),
    };
    await using test = await startService({ toml: auth + client("github", keys), env, auth: code });
    const answer = await signIn(test, { name: "github" });
    expect(await answer.json()).to.deep.equal({ federated_id: "github:github-true" });
  });

  it("OIDC-11 returns 500, and warns at startup, when onIdentity is missing", async () => {
    await using test = await startService({ toml: auth + acme(), env });
    expect(test.lines.find(({ message }) => String(message).includes("onIdentity"))).to.include({
      level: "warn",
    });
    const answer = await signIn(test);
    expect(answer.status).to.equal(500);
    expect(((await answer.json()) as { detail: string }).detail).to.contain("onIdentity");
  });

  it("logs at startup that onIdentity is never called without a provider", async () => {
    const made = await makeService({ toml: auth, env, auth: { onIdentity: () => ({}) } });
    const note = await made.line(({ message }) => String(message).includes("onIdentity"));
    expect(note).to.include({ level: "info" });
    expect((await request(made.service.app).get("/auth/acme/start")).status).to.equal(404);
    await made.service.stop();
  });

  describe("the sign-in cookie", () => {
    const verifying = `${plugins}[plugin.auth]\njwks_url = "https://issuer.example/jwks"\naudience = "shop"\n`;
    const replica = (more: string, around: Record<string, string>): Promise<TestService> =>
      startService({
        toml: more + acme(),
        env: { ...env, ...around },
        auth: { onIdentity: ({ federated_id }) => ({ federated_id }) },
      });

    it("OIDC-6 in mode secret can be read only by replicas with the same secret", async () => {
      await using a = await replica(auth, {});
      await using b = await replica(auth, {});
      await using other = await replica(auth, { SVC_AUTH_SECRET: draw() });
      expect((await signIn(a, { to: b })).status).to.equal(200);
      expect((await signIn(a, { to: other })).status).to.equal(401);
    });

    it("OIDC-6 in mode jwks has a separate secret, which can be rotated while people sign in", async () => {
      const [old, fresh] = [draw(), draw()];
      const pair = `${verifying}cookie_secret = ["\${COOKIE_SECRET}", "\${COOKIE_SECRET_BEFORE:-}"]\n`;
      const alone = `${verifying}cookie_secret = "\${COOKIE_SECRET}"\n`;
      await using before = await replica(alone, { COOKIE_SECRET: old });
      await using during = await replica(pair, { COOKIE_SECRET: fresh, COOKIE_SECRET_BEFORE: old });
      await using behind = await replica(pair, { COOKIE_SECRET: fresh });
      expect((await signIn(before, { to: during })).status).to.equal(200);
      expect((await signIn(during, { to: behind })).status).to.equal(200);
      expect((await signIn(before, { to: behind })).status).to.equal(401);
    });

    it("OIDC-6 CFG-12 needs a secret: the service refuses to start when it is missing or invalid", async () => {
      const refused = (more: string, around = {}): Promise<string> =>
        refusal({ toml: more + acme(), env: { ...env, ...around } });
      expect(await refused(verifying)).to.match(
        /- plugin\.auth\.cookie_secret: is required by plugin\.auth\.providers/,
      );
      expect(await refused(`${verifying}cookie_secret = ["\${NONE:-}"]\n`)).to.contain(
        "cookie_secret: is required",
      );
      expect(await refused(`${verifying}cookie_secret = "short-secret"\n`))
        .to.contain("plugin.auth.cookie_secret: has 12 bytes; it needs at least 32")
        .and.not.to.contain("short-secret");
      expect(await refused(`${verifying}cookie_secret = ["${draw()}", "short"]\n`)).to.contain(
        "plugin.auth.cookie_secret: has 5 bytes in the second entry; it needs at least 32",
      );
      const more = await refusal({ toml: verifying + client("google", 'directory = "common"'), env });
      expect(more)
        .to.contain("plugin.auth.cookie_secret: is required")
        .and.to.contain("plugin.auth.providers.google.directory: applies only to")
        .and.not.to.contain("must be one secret");
      const three = `cookie_secret = ["${draw()}", "${draw()}", "${draw()}"]\n`;
      expect(await refused(verifying + three)).to.contain(
        "plugin.auth.cookie_secret: must be one secret, or",
      );
      expect(await refused(`${verifying}cookie_secret = 7\n`)).to.contain(
        "plugin.auth.cookie_secret: must be",
      );
      const unset = `${verifying}cookie_secret = "\${COOKIE_SECRET}"\n`;
      expect(await refused(unset)).to.contain(
        "plugin.auth.cookie_secret: names the environment variable COOKIE_SECRET, which is not set",
      );
      // One error lists the faults of `algorithms` and `cookie_secret`.
      expect(await refused(auth.replace('"HS256"', '"none"') + 'cookie_secret = "short"\n'))
        .to.contain("plugin.auth.algorithms")
        .and.to.contain("plugin.auth.cookie_secret: has 5 bytes");
    });
  });

  it("OIDC-15 CFG-12 refuses to start with an invalid provider, and names the key as in the file", async () => {
    const faults: Readonly<Record<string, string>> = {
      [client("google").replace(/^client_id.*$/m, "")]:
        "plugin.auth.providers.google.client_id: is required and must be",
      [client("google").replace("redirect_uri", "redirect_url")]:
        "plugin.auth.providers.google.redirect_url: is unknown; did you mean redirect_uri?",
      [client("google").replace("ACME_SECRET", "NOT_SET")]:
        "plugin.auth.providers.google.client_secret: names the environment variable NOT_SET, which is not set",
      [client("google").replace(/^redirect_uri.*$/m, 'redirect_uri = "/auth/google/callback"')]:
        "plugin.auth.providers.google.redirect_uri: must be a URL that begins with https://",
      [client("google", 'authorization_parameters = { state = "x" }')]:
        "plugin.auth.providers.google.authorization_parameters: must not contain state, which the service sets",
      [client("google", "authorization_parameters = { max_age = 5 }")]:
        "plugin.auth.providers.google.authorization_parameters: must be a table of strings",
      [client("google", 'algorithms = ["HS256"]')]:
        "plugin.auth.providers.google.algorithms: must be asymmetric",
      [client("google", 'client_authentication = "none"')]:
        "plugin.auth.providers.google.client_authentication: must be one of",
      [client("google", 'directory = "common"')]:
        "plugin.auth.providers.google.directory: applies only to the provider microsoft",
      [client("microsoft", "directories = []")]: "plugin.auth.providers.microsoft.directories: is empty",
      [client("Acme", places(provider))]: "plugin.auth.providers.Acme: must have a name of",
      [acme().replace("providers.acme", 'providers."a.b"')]:
        'plugin.auth.providers."a.b": must have a name of',
      '[plugin.auth]\nproviders = "google"\n': "plugin.auth.providers: must be a table",
      '[plugin.auth.providers]\ngoogle = "x"\n': "plugin.auth.providers.google: must be a table",
    };
    for (const [toml, fault] of Object.entries(faults)) {
      const all = toml.startsWith("[plugin.auth]")
        ? `${auth}${toml.replace("[plugin.auth]\n", "")}`
        : auth + toml;
      const message = await refusal({ toml: all, env });
      expect(message).to.contain(fault).and.not.to.contain(env.ACME_SECRET);
    }
    const bare = await refusal({ toml: auth + client("acme"), env });
    for (const key of ["issuer", "jwks_uri", "authorization_endpoint", "token_endpoint"])
      expect(bare).to.contain(
        `plugin.auth.providers.acme.${key}: is required: acme is not a built-in provider`,
      );
    const twice = acme() + acme().replace("providers.acme", "providers.other");
    expect(await refusal({ toml: auth + twice, env })).to.contain(
      "plugin.auth.providers.other.redirect_uri: is already used by acme",
    );
  });

  it("OIDC-15 requires https for every URL in prod and staging", async () => {
    for (const name of ["prod", "staging"]) {
      const message = await refusal({ toml: auth + acme(), env: { ...env, SVC_ENV: name } });
      for (const key of ["redirect_uri", "jwks_uri", "authorization_endpoint", "token_endpoint"])
        expect(message).to.contain(`plugin.auth.providers.acme.${key}: must begin with https://`);
    }
  });

  it("refuses to start with invalid options in code, and names them", async () => {
    // JavaScript callers can pass any value.
    const given: Record<string, unknown> = { onIdentity: "a path", onAccessToken: 5 };
    const message = await refusal({ toml: auth + acme(), env, auth: given });
    expect(message)
      .to.contain("auth.onIdentity: must be a function")
      .and.to.contain("auth.onAccessToken: must be a function");
    const typo: Record<string, unknown> = { onIdentify: () => ({}), issuer: "somebody" };
    expect(await refusal({ toml: auth, env, auth: typo }))
      .to.contain("auth.onIdentify: is unknown; did you mean onIdentity?")
      .and.to.contain("auth.issuer: is unknown; expected one of revocation, tokenFrom, keys, onRefresh,");
    const misplaced: Record<string, unknown> = { onIdentity: () => ({}) };
    expect(await refusal({ toml: auth, env, ...misplaced })).to.contain(
      "onIdentity: is unknown; did you mean auth.onIdentity?",
    );
    const tokenFrom: Record<string, unknown> = { tokenFrom: "a cookie" };
    expect(await refusal({ toml: auth, env, auth: tokenFrom })).to.contain(
      "auth.tokenFrom: must be a function",
    );
  });

  it("PROF-1 rejects onIdentity and onAccessToken in the reduced profile, which has no providers", async () => {
    const code: AuthCode = { onIdentity: () => ({}), onAccessToken: () => ({ subject: "1" }) };
    const reduced = { ...env, SVC_APP_NAME: "small" };
    const message = await refusal({ config: undefined, profile: "reduced", env: reduced, auth: code });
    expect(message)
      .to.contain("auth.onIdentity: is available only in the full profile")
      .and.to.contain("auth.onAccessToken: is available only in the full profile");
  });

  it("TEN-16 exempts sign-in and refresh from require_tenant, but not /auth/me and sign-out", async () => {
    const tenants = auth.replace('"auth"]', '"auth", "tenancy"]');
    const tenancy = '[plugin.tenancy]\nsources = ["token"]\nrequire_tenant = true\n';
    const onIdentity: AuthCode["onIdentity"] = ({ federated_id }) =>
      test.service.issuer?.issuePair({ subject: federated_id });
    await using test: TestService = await startService({
      toml: `${tenants}issue_tokens = true\n${acme()}${tenancy}`,
      env,
      auth: { onIdentity },
    });
    const answer = await signIn(test);
    expect(answer.status).to.equal(200);
    const { access_token, refresh_token } = (await answer.json()) as Record<string, string>;
    const bearer = `Bearer ${access_token}`;
    expect((await request(test.url).get("/auth/me").set("Authorization", bearer)).status).to.equal(403);
    expect((await request(test.url).post("/auth/logout").set("Authorization", bearer)).status).to.equal(403);
    expect((await request(test.url).post("/auth/refresh").send({ refresh_token })).status).to.equal(200);
    const exempt = 'exempt_paths = ["POST /auth/logout", "GET /auth/me"]\n';
    await using open = await startService({
      toml: `${tenants}issue_tokens = true\n${tenancy}${exempt}`,
      env,
    });
    expect((await request(open.url).get("/auth/me").set("Authorization", bearer)).status).to.equal(200);
    expect((await request(open.url).post("/auth/logout").set("Authorization", bearer)).status).to.equal(204);
  });

  it("loads the sign-in packages only for a service with providers", async () => {
    await using child = await runChild(
      `import { registerHooks } from "node:module";
       const loaded = new Set();
       registerHooks({
         resolve(name, context, next) {
           const found = next(name, context);
           if (name === "openid-client") loaded.add(name);
           if (found.url.endsWith("/oidc-login/src/oidc-login.ts")) loaded.add("@svc/oidc-login");
           return found;
         },
       });
       const { createService } = await import("@svc/express");
       for (const toml of [${JSON.stringify(auth)}, ${JSON.stringify(auth + client("github"))}]) {
         const service = await createService({
           config: { toml: '[service]\\nname = "test"\\n' + toml },
           logDestination: { write() {} },
         });
         await service.stop();
         console.log(JSON.stringify({ message: "loaded", names: [...loaded].toSorted() }));
       }`,
      { env },
    );
    expect(await child.ended).to.include({ code: 0 });
    const found = child.lines().map(({ names }) => names);
    expect(found).to.deep.equal([[], ["@svc/oidc-login", "openid-client"]]);
  });
});
