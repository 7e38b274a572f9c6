import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import request from "supertest";
import { runService, serviceFor } from "./support/running-service.ts";
import { browse, browserWith, cookiesOf, logIn, ownForm } from "./support/sign-in.ts";

const clerk = "clerk@harbour-cafe.example";

describe("a browser whose access token has expired", () => {
  const running = serviceFor(testDatabase({ name: "page refresh" }), { demoUsers: true });

  function view(path: string, refresh: string, url = running.url): request.Test {
    return request(url)
      .get(path)
      .set({ Cookie: `refresh=${refresh}`, Accept: "text/html" });
  }

  it("REF-1 gets the page and a new pair of cookies in the same session", async () => {
    const before = await browse(running.url, clerk, "the reader");
    const page = await view("/account", before.refresh);
    expect(page.status).to.equal(200);
    expect(page.text).to.match(/the reader <strong>\(current session\)/);
    const after = browserWith(cookiesOf(page.headers));
    expect(after.session).not.to.equal(before.session);
    expect(after.refresh).not.to.equal(before.refresh);
    const next = await request(running.url).get("/account").set("Cookie", after.cookie);
    expect(next.status).to.equal(200);
    expect(next.headers["set-cookie"]).to.equal(undefined);
    expect((await view("/account", after.refresh)).status).to.equal(200);
  });

  it("REF-4 is redirected at most twice if another tab has refreshed first, and stays signed in", async () => {
    const browser = await browse(running.url, clerk);
    const winner = browserWith(cookiesOf((await view("/account", browser.refresh)).headers));
    let path = "/account?x=1";
    for (const retry of [1, 2]) {
      const { status, headers } = await view(path, browser.refresh);
      path = headers["location"] ?? "";
      expect({ status, path }).to.deep.equal({ status: 307, path: `/account?x=1&retry=${retry}` });
      expect(headers["set-cookie"]).to.equal(undefined);
    }
    const late = await view(path, browser.refresh);
    expect(late.status).to.equal(409);
    expect(late.text).to.contain('<a href="/account?x=1">Try again</a>');
    expect(late.headers["set-cookie"]).to.equal(undefined);
    // By now the browser has the cookies of the faster tab.
    expect((await request(running.url).get(path).set("Cookie", winner.cookie)).status).to.equal(200);
    expect((await view("/account", winner.refresh)).status).to.equal(200);
  });

  it("is redirected to send its form again unchanged if another tab has refreshed first", async () => {
    const browser = await browse(running.url, clerk);
    const winner = browserWith(cookiesOf((await view("/account", browser.refresh)).headers));
    const form = await request(running.url)
      .post("/sign-out")
      .set({ ...ownForm, Cookie: `refresh=${browser.refresh}` });
    expect({ status: form.status, to: form.headers["location"] }).to.deep.equal({
      status: 307,
      to: "/sign-out?retry=1",
    });
    const again = await request(running.url)
      .post("/sign-out?retry=1")
      .set({ ...ownForm, Cookie: winner.cookie });
    expect(again.headers["location"]).to.equal("/sign-in?signed_out=1");
    expect((await view("/account", winner.refresh)).headers["location"]).to.equal("/sign-in?ended=1");
  });

  it("ends its session with the sign-out form", async () => {
    const browser = await browse(running.url, clerk);
    const out = await request(running.url)
      .post("/sign-out")
      .set({ ...ownForm, Cookie: `refresh=${browser.refresh}` });
    expect(out.headers["location"]).to.equal("/sign-in?signed_out=1");
    const me = request(running.url).get("/auth/me").set("Authorization", `Bearer ${browser.session}`);
    expect((await me).status).to.equal(401);
  });

  it("is redirected to the sign-in page and loses its cookies if the session has ended", async () => {
    const { access_token, refresh_token } = await logIn(running.url, clerk);
    await request(running.url).post("/auth/logout").set("Authorization", `Bearer ${access_token}`);
    const page = await view("/account", refresh_token);
    expect(page.headers["location"]).to.equal("/sign-in?ended=1");
    expect([...cookiesOf(page.headers).values()]).to.deep.equal(["", ""]);
  });

  it("REF-6 is redirected to the sign-in page with a notice when a copy of its refresh token is reused, and so is the thief", async () => {
    const browser = await browse(running.url, clerk);
    const thief = browserWith(cookiesOf((await view("/account", browser.refresh)).headers));
    await using db = createDatabase({ url: running.databaseUrl });
    // End the grace window.
    await db.query("update svc_auth_marks set deadline = now() where nonce is not null");
    for (const refresh of [browser.refresh, thief.refresh]) {
      const page = await view("/account", refresh);
      expect(page.headers["location"]).to.equal("/sign-in?ended=1");
      expect([...cookiesOf(page.headers).values()]).to.deep.equal(["", ""]);
    }
    const again = await request(running.url).get("/sign-in?ended=1");
    expect(again.text).to.contain('role="status">Your session has ended. Sign in again.</p>');
    expect((await view("/sign-in", browser.refresh)).text).to.contain("Your session has ended.");
    expect((await request(running.url).get("/sign-in")).text).not.to.contain('role="status"');
  });

  it("keeps its cookies while the store does not respond, and gets a page that reports the outage", async () => {
    const { refresh } = await browse(running.url, clerk);
    await using elsewhere = await runService("postgres://nobody@127.0.0.1:1/none");
    const page = await view("/account", refresh, elsewhere.url);
    expect({ status: page.status, type: page.type }).to.deep.equal({ status: 503, type: "text/html" });
    expect(Number(page.headers["retry-after"])).to.be.at.least(1);
    expect(page.headers["set-cookie"]).to.equal(undefined);
    expect(page.text)
      .to.contain("you stay signed in")
      .and.not.to.match(/127\.0\.0\.1|postgres/);
    // The log contains the cause once, and never the cookie.
    const failures = elsewhere.log.filter((line) => line.includes('"a request failed"'));
    expect(failures).to.have.length(1);
    expect(failures[0]).to.contain('"level":"error"').and.to.contain("ERR_SVC_");
    expect(elsewhere.log.join("")).not.to.contain(refresh);
    const program = await request(elsewhere.url).get("/account").set("Cookie", `refresh=${refresh}`);
    expect({ status: program.status, type: program.type }).to.deep.equal({
      status: 503,
      type: "application/problem+json",
    });
    const form = request(elsewhere.url).post("/login").set(ownForm).type("form");
    expect((await form.send({ email: clerk, password: "x" })).status).to.equal(503);
    expect((await view("/account", refresh)).status).to.equal(200);
  });

  it("REF-9 gets the user's current rights, and is redirected to the sign-in page after the user was deleted", async () => {
    await using db = createDatabase({ url: running.databaseUrl });
    const { refresh } = await browse(running.url, "clerk@nordic-bikes.example");
    await db.query("update users set scopes = $2 where email = $1", [
      "clerk@nordic-bikes.example",
      ["expenses:read"],
    ]);
    const page = await view("/account", refresh);
    const less = browserWith(cookiesOf(page.headers));
    const { body } = await request(running.url).get("/whoami").set("Cookie", less.cookie);
    expect((body as { scopes: string[] }).scopes).to.deep.equal(["expenses:read"]);
    await db.query("delete from users where email = $1", ["clerk@nordic-bikes.example"]);
    const gone = await view("/account", less.refresh);
    expect(gone.headers["location"]).to.equal("/sign-in?ended=1");
    const me = request(running.url).get("/auth/me").set("Cookie", less.cookie);
    expect((await me).status).to.equal(401);
  });

  it("REF-16 is redirected to the sign-in page when the user lost the admin role or moved to another tenant", async () => {
    await using db = createDatabase({ url: running.databaseUrl });
    const admin = await browse(running.url, "admin@nordic-bikes.example");
    await db.query("update users set roles = '{}' where email = 'admin@nordic-bikes.example'");
    expect((await view("/account", admin.refresh)).headers["location"]).to.equal("/sign-in?ended=1");
    const again = await browse(running.url, "admin@nordic-bikes.example");
    expect((await request(running.url).get("/totals").set("Cookie", again.cookie)).status).to.equal(403);
    await db.query("update users set tenant = 'stone-and-leaf' where email = 'admin@nordic-bikes.example'");
    expect((await view("/account", again.refresh)).headers["location"]).to.equal("/sign-in?ended=1");
  });
});
