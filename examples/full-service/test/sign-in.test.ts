import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { createService } from "@svc/express";
import { expect } from "chai";
import request from "supertest";
import { demoPassword } from "../src/demo-users.ts";
import { createPasswords, type Derive } from "../src/passwords.ts";
import { expensesService } from "../src/service.ts";
import { addUser } from "../src/users.ts";
import { authEnv } from "./support/caller.ts";
import { cheapCost } from "./support/cheap-cost.ts";
import { runService, serviceFor } from "./support/running-service.ts";
import { browse, cookiesOf, logIn, ownForm } from "./support/sign-in.ts";

const email = "clerk@harbour-cafe.example";

describe("sign-in with a password", () => {
  let derived = 0;
  // This hash is cheap and counts its calls.
  const derive: Derive = async (password, salt) => {
    derived += 1;
    return Buffer.from(`${password}/${salt.toString("hex")}`.padEnd(80).slice(0, 80));
  };
  const options = { seed: true, demoUsers: true, passwords: { derive, cost: cheapCost } };
  const running = serviceFor(testDatabase({ name: "sign in" }), options);

  function json(body: unknown): request.Test {
    return request(running.url)
      .post("/login")
      .send(body as object);
  }

  function form(
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = ownForm,
  ): request.Test {
    return request(running.url).post("/login").set(headers).type("form").send(fields);
  }

  it("ISS-2 gives a program a pair of tokens with the user's tenant, scopes and roles", async () => {
    const pair = await logIn(running.url, "ADMIN@harbour-cafe.example");
    expect(pair).to.include({ token_type: "Bearer", expires_in: 900 });
    const whoami = request(running.url).get("/whoami").set("Authorization", `Bearer ${pair.access_token}`);
    expect((await whoami).body).to.deep.equal({
      signed_in: true,
      subject: "admin-of-harbour-cafe",
      tenant: "harbour-cafe",
      scopes: ["expenses:read", "expenses:write"],
      roles: ["admin"],
    });
    const again = await request(running.url)
      .post("/auth/refresh")
      .send({ refresh_token: pair.refresh_token });
    expect(again.status).to.equal(200);
  });

  it("returns the same response for an unknown user and a wrong password, after the same number of hashes", async () => {
    const answers: unknown[] = [];
    for (const body of [
      { email, password: "wrong" },
      { email: "nobody@harbour-cafe.example", password: demoPassword },
    ]) {
      const before = derived;
      const { status, type, headers, body: problem } = await json(body);
      const { request_id: _id, ...rest } = problem as Record<string, unknown>;
      answers.push({ derived: derived - before, status, type, rest, header: headers["www-authenticate"] });
    }
    expect(answers[0]).to.deep.equal(answers[1]);
    expect(answers[0]).to.deep.include({ derived: 1, status: 401, type: "application/problem+json" });
  });

  it("returns 422 for invalid credentials, without quoting them", async () => {
    const long = "x".repeat(255);
    const wrong = [{}, [], { email }, { password: "x" }, { email: 7, password: "hunter2" }];
    for (const body of [...wrong, { email, password: long }, { email: long, password: "hunter2" }]) {
      const before = derived;
      const { status, text } = await json(body);
      expect({ body, status, derived: derived - before }).to.deep.equal({ body, status: 422, derived: 0 });
      expect(text).not.to.contain("hunter2");
    }
    expect((await json({ email: "a\0b", password: "x" })).status).to.equal(422);
    expect((await request(running.url).post("/login").type("text/plain").send("x")).status).to.equal(415);
  });

  it("accepts the form of the page, sets two cookies and redirects to the requested page", async () => {
    const answer = await form({
      email: ` ${email} `,
      password: demoPassword,
      return_to: "/expenses?limit=1",
    });
    expect(answer.status).to.equal(303);
    expect(answer.headers).to.include({ location: "/expenses?limit=1", "cache-control": "no-store" });
    const [session = "", refresh = "", ...others] = answer.headers["set-cookie"] as unknown as string[];
    expect(others).to.deep.equal([]);
    expect(session).to.match(/^session=[\w.-]+; Max-Age=900; Path=\/; HttpOnly; SameSite=Lax$/);
    expect(refresh).to.match(/^refresh=[\w.-]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/);
    const expenses = request(running.url)
      .get("/expenses?limit=1")
      .set("Cookie", session.split(";")[0] ?? "");
    expect((await expenses).status).to.equal(200);
  });

  it("redirects only to a path of this site", async () => {
    for (const return_to of [
      "//evil.example",
      "/\\evil.example",
      "https://evil.example",
      "/.//evil.example",
    ]) {
      const { headers } = await form({ email, password: demoPassword, return_to });
      expect({ return_to, to: headers["location"] }).to.deep.equal({ return_to, to: "/account" });
      const { text } = await request(running.url).get("/sign-in").query({ return_to });
      expect(text).to.contain('name="return_to" value="/account"').and.not.to.contain("evil");
    }
  });

  it("AUTH-34 refuses a form that another site has sent", async () => {
    const { host } = new URL(running.url);
    const fields = { email, password: demoPassword };
    const foreign: readonly Readonly<Record<string, string>>[] = [
      { "Sec-Fetch-Site": "cross-site" },
      { "Sec-Fetch-Site": "same-site" },
      { "Sec-Fetch-Site": "none" },
      { "Sec-Fetch-Site": "cross-site", Origin: running.url },
      { Origin: "https://evil.example" },
      { Origin: "null" },
      { Origin: `http://evil.${host}` },
      {},
    ];
    for (const headers of foreign) {
      const answer = await form(fields, headers);
      expect({ headers, status: answer.status }).to.deep.equal({ headers, status: 403 });
      expect(answer.headers["set-cookie"]).to.equal(undefined);
    }
    for (const origin of [running.url, `https://${host}`]) {
      expect((await form(fields, { Origin: origin })).status, origin).to.equal(303);
    }
    const page = await form(fields, { "Sec-Fetch-Site": "cross-site", Accept: "text/html" });
    expect(page.text).to.contain("did not come from a page of this site");
  });

  it("shows the form again after an error, with the error linked to its fields and without the password", async () => {
    const hostile = `"><script>alert(1)</script>@x.example`;
    for (const [fields, status] of [
      [{ email: hostile, password: "hunter2", return_to: "/whoami" }, 401],
      [{ email, password: "", return_to: "/whoami" }, 422],
    ] as const) {
      const answer = await form(fields);
      expect({ status: answer.status, type: answer.type }).to.deep.equal({ status, type: "text/html" });
      expect(answer.text)
        .to.match(/<p class="error" id="error" role="alert">[^<]+<\/p>/)
        .and.to.match(/<input id="email"[^>]* aria-invalid="true" aria-describedby="error">/)
        .and.to.match(/<input id="password"[^>]* aria-describedby="error" autofocus>/)
        .and.to.contain('name="return_to" value="/whoami"')
        .and.to.contain("<title>Error: ");
      expect(answer.text).not.to.match(/<script|hunter2/);
      expect(answer.headers["set-cookie"]).to.equal(undefined);
    }
  });

  it("shows a page for a form that is too long, and redirects GET /login to /sign-in", async () => {
    const long = await form({ email, password: "x".repeat(9000) });
    expect({ status: long.status, type: long.type }).to.deep.equal({ status: 413, type: "text/html" });
    expect(long.text).to.contain("<h1>Request failed</h1>").and.not.to.contain("xxx");
    expect((await request(running.url).get("/login")).headers["location"]).to.equal("/sign-in");
  });

  it("serves a page without scripts, with a language and labels, which caches do not store", async () => {
    const { status, headers, text } = await request(running.url).get("/sign-in?signed_out=1");
    expect(status).to.equal(200);
    expect(headers).to.include({ "cache-control": "no-store", "referrer-policy": "same-origin" });
    expect(headers["content-security-policy"]).to.contain("form-action 'self'");
    expect(text).to.contain('<html lang="en">').and.to.contain('role="status">You are signed out');
    for (const id of ["email", "password"]) {
      expect(text).to.contain(`<label for="${id}">`).and.to.contain(`<input id="${id}"`);
    }
    expect(text)
      .to.contain(demoPassword)
      .and.not.to.match(/<script| on\w+=|style="/);
  });

  it("redirects a signed-in visitor, and a new sign-in ends the previous session of the browser", async () => {
    const before = await browse(running.url, email);
    const page = request(running.url).get("/sign-in?return_to=/whoami").set("Cookie", before.cookie);
    expect((await page).headers).to.include({ location: "/whoami" });
    const answer = await form({ email, password: demoPassword }, { ...ownForm, Cookie: before.cookie });
    expect(answer.status).to.equal(303);
    const old = request(running.url).get("/auth/me").set("Authorization", `Bearer ${before.session}`);
    expect((await old).status).to.equal(401);
    const now = cookiesOf(answer.headers).get("session");
    const me = request(running.url).get("/auth/me").set("Authorization", `Bearer ${now}`);
    expect((await me).status).to.equal(200);
  });

  it("returns 503 with Retry-After for a flood of sign-ins, and serves other requests", async () => {
    const waiting: (() => void)[] = [];
    const slow: Derive = () => new Promise((resolve) => waiting.push(() => resolve(Buffer.alloc(32))));
    const passwords = { derive: slow, cost: cheapCost, atOnce: 1, waiting: 1 };
    await using busy = await runService(running.databaseUrl, { passwords });
    const body = { email, password: demoPassword };
    const flood = Array.from({ length: 6 }, async () => request(busy.url).post("/login").send(body));
    let answered = 0;
    for (const each of flood) void each.then(() => (answered += 1));
    while (answered < 4) await new Promise(setImmediate);
    expect((await request(busy.url).get("/whoami")).status).to.equal(200);
    while (answered < 6) {
      waiting.shift()?.();
      await new Promise(setImmediate);
    }
    const answers = await Promise.all(flood);
    expect(answers.map(({ status }) => status)).to.have.members([401, 401, 503, 503, 503, 503]);
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.every(({ headers }) => headers["retry-after"] === "2")).to.equal(true);
  });

  it("frees the slot of a client that disconnects while queued, and starts no session for it", async () => {
    const turns: (() => void)[] = [];
    const slow: Derive = (...given) =>
      new Promise((resolve) => turns.push(() => void derive(...given).then(resolve)));
    const passwords = { derive: slow, cost: cheapCost, atOnce: 1, waiting: 1 };
    await using busy = await runService(running.databaseUrl, { passwords });
    await using db = createDatabase({ url: running.databaseUrl });
    const sessions = async (): Promise<number> => (await db.query("select from sessions")).rowCount ?? 0;
    // This request creates the tables.
    await browse(running.url, email);
    const before = await sessions();
    const left = new AbortController();
    const body = JSON.stringify({ email, password: demoPassword });
    const logIn = (signal?: AbortSignal): Promise<number | string> =>
      fetch(`${busy.url}/login`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Connection: "close" },
        body,
        ...(signal === undefined ? {} : { signal }),
      }).then(
        ({ status }) => status,
        () => "left",
      );
    // One request runs, one waits, and the third is refused.
    const three = [logIn(left.signal), logIn(left.signal), logIn(left.signal)];
    await Promise.race(three);
    left.abort();
    expect(await Promise.all(three)).to.have.members([503, "left", "left"]);
    const connections = promisify(busy.service.server.getConnections.bind(busy.service.server));
    while ((await connections()) > 0) await new Promise(setImmediate);
    // The close of a connection is reported one turn of the event loop later.
    await new Promise(setImmediate);
    const next = logIn();
    let status: number | string | undefined;
    void next.then((known) => (status = known));
    while (status === undefined) {
      turns.shift()?.();
      await new Promise(setImmediate);
    }
    expect(status).to.equal(200);
    expect(await sessions()).to.equal(before + 1);
  });

  it("CFG-17 refuses the public demo password in prod", async () => {
    const secret = randomBytes(32).toString("base64url");
    const env = { SVC_ENV: "prod", SVC_AUTH_SECRET: secret };
    // This request creates the tables.
    await logIn(running.url, email);
    // With this hash every password matches.
    const passwords = { derive: () => Promise.resolve(Buffer.alloc(32)), cost: cheapCost };
    await using db = createDatabase({ url: running.databaseUrl });
    const anybody = { subject: "anybody", email: "anybody@x.example", tenant: "x", scopes: [], roles: [] };
    await addUser(db, { ...anybody, password: await createPasswords(passwords).hash("x") });
    await using production = await runService(running.databaseUrl, { passwords }, env);
    const fullWidth = demoPassword.replace("e", "\uff45");
    expect(fullWidth.normalize("NFKC")).to.equal(demoPassword);
    const statuses: number[] = [];
    for (const password of [demoPassword, fullWidth, "x"]) {
      const login = request(production.url).post("/login").send({ email: anybody.email, password });
      statuses.push((await login).status);
    }
    expect(statuses).to.deep.equal([401, 401, 200]);
  });

  it("sets Secure cookies with __Host- names in staging, and returns 403 for a form sent from an http origin", async () => {
    await using service = await createService({
      ...expensesService(
        { SVC_ENV: "staging", DATABASE_URL: running.databaseUrl, ...authEnv },
        { passwords: { derive, cost: cheapCost } },
      ),
      signals: false,
      logDestination: { write: () => undefined },
    });
    const from = (Origin: string): request.Test =>
      request(service.app).post("/login").set({ Host: "expenses.example", Origin }).type("form");
    const plain = await from("http://expenses.example").send({ email, password: demoPassword });
    expect(plain.status).to.equal(403);
    const answer = await from("https://expenses.example").send({ email, password: demoPassword });
    expect(answer.status).to.equal(303);
    const lines = answer.headers["set-cookie"] as unknown as string[];
    expect(lines.map((line) => line.split("=")[0])).to.deep.equal(["__Host-session", "__Host-refresh"]);
    for (const line of lines) {
      expect(line).to.match(/; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
      expect(line).not.to.match(/domain/i);
    }
    const [session = ""] = lines;
    const account = request(service.app)
      .get("/account")
      .set("Cookie", session.split(";")[0] ?? "");
    expect((await account).status).to.equal(200);
    const unnamed = request(service.app)
      .get("/account")
      .set("Cookie", (session.split(";")[0] ?? "").replace("__Host-", ""));
    expect((await unnamed).status).to.equal(303);
    const page = await request(service.app).get("/sign-in");
    expect(page.text).not.to.contain(demoPassword);
  });
});
