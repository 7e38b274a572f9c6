import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import request from "supertest";
import { serviceFor } from "./support/running-service.ts";
import { browse, type Browser, cookiesOf, logIn, ownForm } from "./support/sign-in.ts";

const clerk = "clerk@harbour-cafe.example";
const admin = "admin@harbour-cafe.example";

describe("a person's sessions", () => {
  const running = serviceFor(testDatabase({ name: "sessions" }), { demoUsers: true });

  function view(path: string, { cookie }: Pick<Browser, "cookie">): request.Test {
    return request(running.url).get(path).set("Cookie", cookie);
  }

  function submit(
    path: string,
    { cookie }: Pick<Browser, "cookie">,
    headers: object = ownForm,
  ): request.Test {
    return request(running.url)
      .post(path)
      .set({ ...headers, Cookie: cookie });
  }

  /** Returns the statuses of an API call with the access token and of a refresh. */
  async function isAlive({ session, refresh }: Browser): Promise<readonly [number, number]> {
    const me = await request(running.url).get("/auth/me").set("Authorization", `Bearer ${session}`);
    const again = await request(running.url).post("/auth/refresh").send({ refresh_token: refresh });
    return [me.status, again.status];
  }

  /** Returns the forms that end the listed sessions, in order, and which of them is the browser's own. */
  async function listed(browser: Browser): Promise<readonly { path: string; agent: string; own: boolean }[]> {
    const { status, text } = await view("/account", browser);
    expect(status).to.equal(200);
    const rows = text.split("<li>").filter((row) => row.includes('class="agent"'));
    return rows.map((row) => ({
      path: /action="([^"]+)"/.exec(row)?.[1] ?? "",
      agent: /<p class="agent">([^]*?)(?: <strong>.*)?<\/p>/.exec(row)?.[1] ?? "",
      own: row.includes("(current session)"),
    }));
  }

  it("are listed only for their owner, with browser and times, and with the current session marked", async () => {
    const here = await browse(running.url, clerk, "the laptop");
    await browse(running.url, clerk, "the phone");
    await browse(running.url, admin, "of another user");
    const all = await listed(here);
    const mine = all.filter(({ agent }) => agent.startsWith("the "));
    expect(mine.map(({ agent, own }) => ({ agent, own }))).to.deep.equal([
      { agent: "the laptop", own: true },
      { agent: "the phone", own: false },
    ]);
    expect(all.some(({ agent }) => agent === "of another user")).to.equal(false);
    const { text, headers } = await view("/account", here);
    expect(text)
      .to.contain("clerk-of-harbour-cafe")
      .and.to.contain(clerk)
      .and.to.match(/<time datetime="\d{4}-\d\d-\d\dT[\d:.]+Z">\d{4}-\d\d-\d\d \d\d:\d\d UTC<\/time>/);
    expect(headers["cache-control"]).to.equal("no-store");
  });

  it("show at most 200 characters of the User-Agent, as text", async () => {
    const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>&amp;\u00e9`;
    const here = await browse(running.url, clerk, hostile.padEnd(300, "x"));
    const { text } = await view("/account", here);
    expect(text).not.to.match(/<script|<img|<\/script/);
    const shown =
      "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&gt;&lt;img src=x onerror=alert(2)&gt;&amp;amp;";
    expect(text).to.contain(shown);
    const agent = (await listed(here)).find(({ own }) => own)?.agent ?? "";
    const plain = agent.replace(/&(lt|gt|quot|#39|amp);/g, "?");
    expect(plain).to.have.length(200);
  });

  it("ISS-5 end one by one: only the chosen session ends, immediately and permanently", async () => {
    const [here, there, elsewhere] = [
      await browse(running.url, clerk, "here"),
      await browse(running.url, clerk, "there"),
      await browse(running.url, clerk, "elsewhere"),
    ];
    const row = (await listed(here)).find(({ agent }) => agent === "there");
    const answer = await submit(row?.path ?? "", here);
    expect({ status: answer.status, to: answer.headers["location"] }).to.deep.equal({
      status: 303,
      to: "/account",
    });
    expect(answer.headers["set-cookie"]).to.equal(undefined);
    expect((await listed(here)).some(({ agent }) => agent === "there")).to.equal(false);
    expect((await view("/account", there)).headers["location"]).to.equal("/sign-in?ended=1");
    expect(await isAlive(there)).to.deep.equal([401, 401]);
    expect(await isAlive(elsewhere)).to.deep.equal([200, 200]);
    expect(await isAlive(here)).to.deep.equal([200, 200]);
  });

  it("clear the browser's cookies when the browser ends its own session, from the list or by signing out", async () => {
    const one = await browse(running.url, clerk, "one");
    const own = (await listed(one)).find((each) => each.own);
    const other = await browse(running.url, clerk, "other");
    for (const [path, browser] of [
      [own?.path ?? "", one],
      ["/sign-out", other],
    ] as const) {
      const answer = await submit(path, browser);
      expect(answer.headers["location"]).to.equal("/sign-in?signed_out=1");
      expect([...cookiesOf(answer.headers)]).to.deep.equal([
        ["session", ""],
        ["refresh", ""],
      ]);
      expect(await isAlive(browser)).to.deep.equal([401, 401]);
    }
    const withoutSession = await submit("/sign-out", { cookie: "" });
    expect(withoutSession.headers["location"]).to.equal("/sign-in?signed_out=1");
  });

  it("REV-10 end everywhere for one person only, who can sign in again immediately", async () => {
    const mine = [
      await browse(running.url, admin, "a"),
      await browse(running.url, admin, "b"),
      await browse(running.url, admin, "c"),
    ] as const;
    const others = await browse(running.url, clerk, "d");
    const answer = await submit("/sign-out-everywhere", mine[0]);
    expect(answer.headers["location"]).to.equal("/sign-in?signed_out=1");
    const again = await browse(running.url, admin, "e");
    for (const each of mine) expect(await isAlive(each)).to.deep.equal([401, 401]);
    expect((await listed(again)).map(({ agent }) => agent)).to.deep.equal(["e"]);
    expect(await isAlive(again)).to.deep.equal([200, 200]);
    expect(await isAlive(others)).to.deep.equal([200, 200]);
  });

  it("cannot be ended by other users, and an unknown id ends no session", async () => {
    const victim = await browse(running.url, admin, "the victim");
    const path = (await listed(victim)).find(({ own }) => own)?.path ?? "";
    const attacker = await browse(running.url, clerk, "the attacker");
    for (const each of [path, "/sessions/none/sign-out", "/sessions/%00/sign-out"]) {
      const { status, text } = await submit(each, attacker);
      expect({ each, status }).to.deep.equal({ each, status: 404 });
      expect(text).to.contain("<h1>Not found</h1>");
    }
    expect(await isAlive(victim)).to.deep.equal([200, 200]);
  });

  it("AUTH-34 end only by forms from this origin", async () => {
    const here = await browse(running.url, clerk, "here");
    const path = (await listed(here)).find(({ own }) => own)?.path ?? "";
    const late = { cookie: `refresh=${here.refresh}` };
    for (const browser of [here, late]) {
      for (const each of ["/sign-out", "/sign-out-everywhere", path]) {
        const { status, headers } = await submit(each, browser, { "Sec-Fetch-Site": "cross-site" });
        expect({ each, status }).to.deep.equal({ each, status: 403 });
        expect(headers["set-cookie"]).to.equal(undefined);
      }
    }
    expect(await isAlive(here)).to.deep.equal([200, 200]);
  });

  it("disappear from the list when a program signs out", async () => {
    const here = await browse(running.url, admin, "here");
    const program = await logIn(running.url, admin);
    const before = (await listed(here)).length;
    const out = request(running.url)
      .post("/auth/logout")
      .set("Authorization", `Bearer ${program.access_token}`);
    expect((await out).status).to.equal(204);
    expect(await listed(here)).to.have.length(before - 1);
  });

  it("are shown only after a sign-in, which leads back to the page", async () => {
    const page = await request(running.url).get("/account");
    expect(page.headers).to.include({ location: "/sign-in", "cache-control": "no-store" });
    const garbage = await view("/account?x=1", { cookie: "session=a.b.c; refresh=d.e.f" });
    expect(garbage.headers["location"]).to.equal("/sign-in?return_to=%2Faccount%3Fx%3D1&ended=1");
    expect([...cookiesOf(garbage.headers).values()]).to.deep.equal(["", ""]);
    const form = await submit("/sign-out-everywhere", { cookie: "" });
    expect(form.headers["location"]).to.equal("/sign-in");
  });

  it("are deleted a month after their last use", async () => {
    const old = await browse(running.url, clerk, "an old one");
    await using db = createDatabase({ url: running.databaseUrl });
    const aged = await db.query(
      "update sessions set last_used = now() - interval '32 days' where user_agent = $1",
      ["an old one"],
    );
    expect(aged.rowCount).to.equal(1);
    expect((await listed(await browse(running.url, clerk, "new"))).map(({ agent }) => agent)).not.to.include(
      "an old one",
    );
    const { rowCount } = await db.query("select from sessions where user_agent = $1", ["an old one"]);
    expect(rowCount).to.equal(0);
    expect(await isAlive(old)).to.deep.equal([200, 200]);
  });
});
