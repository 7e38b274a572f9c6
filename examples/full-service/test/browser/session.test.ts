import { listen, until } from "@svc/test-support";
import { expect } from "chai";
import type { Page } from "playwright-core";
import { demoPassword } from "../../src/demo-users.ts";
import type { Visitor } from "./support/browser.ts";
import { otherPage } from "./support/other-page.ts";
import { otherHosts, testSite } from "./support/site.ts";
import { follow, headingOf, keptCookies, placeOf, signInWithPassword } from "./support/steps.ts";

const names = ["__Host-session", "__Host-refresh"];

describe("a browser with a session", function () {
  this.timeout(30_000);
  const site = testSite("session");

  /** Returns a browser that has just signed in. */
  async function signedIn(userAgent: string, more: { javaScriptEnabled?: boolean } = {}): Promise<Visitor> {
    const visitor = await site.visitor({ userAgent, ...more });
    await visitor.page.goto("/sign-in");
    await signInWithPassword(visitor.page);
    await visitor.page.waitForURL("**/account");
    return visitor;
  }

  /** Opens the account page and returns the page where this browser ends up. */
  async function account(page: Page): Promise<string> {
    await page.goto("/account");
    return placeOf(page);
  }

  /** Opens the account page. On a very busy machine the page may ask the visitor to try again. */
  async function arrive(page: Page): Promise<void> {
    await account(page);
    while ((await headingOf(page)) === "Please wait") await follow(page.getByRole("link"));
  }

  for (const javaScriptEnabled of [true, false]) {
    it(`signs in with a password and signs out, ${javaScriptEnabled ? "with" : "without"} JavaScript`, async () => {
      const { page } = await site.visitor({ javaScriptEnabled });
      await page.goto("/account");
      expect(placeOf(page)).to.equal("/sign-in");
      await signInWithPassword(page);
      expect([placeOf(page), await headingOf(page)]).to.deep.equal(["/account", "Your account"]);
      await follow(page.getByRole("button", { name: "Sign out", exact: true }));
      expect(placeOf(page)).to.equal("/sign-in?signed_out=1");
      expect(await page.getByRole("status").innerText()).to.equal("You are signed out.");
      expect(await account(page)).to.equal("/sign-in");
    });
  }

  it("shows that the password was wrong, keeps the typed address, and allows another attempt", async () => {
    const { page } = await site.visitor();
    await page.goto("/sign-in?return_to=/whoami");
    await signInWithPassword(page, "clerk@harbour-cafe.example", "wrong");
    expect(await page.getByRole("alert").innerText()).to.equal(
      "The e-mail address or the password is wrong.",
    );
    expect(await page.getByLabel("E-mail").inputValue()).to.equal("clerk@harbour-cafe.example");
    expect(await page.getByLabel("Password").inputValue()).to.equal("");
    // The browser focuses the field after it has drawn the page.
    await until("the password has the focus", () =>
      page.evaluate<boolean>("document.activeElement.id === 'password'"),
    );
    await signInWithPassword(page);
    expect(placeOf(page)).to.equal("/whoami");
  });

  it("ISS-4 hides its cookies from scripts, other hosts and pages of other sites", async () => {
    const before = Date.now() / 1000;
    const { page, context } = await signedIn("one");
    const after = Date.now() / 1000;
    const kept = await keptCookies(context);
    expect([...kept.keys()]).to.have.members(names);
    for (const [name, seconds] of Object.entries({ "__Host-session": 900, "__Host-refresh": 30 * 86_400 })) {
      expect(kept.get(name)?.expires).to.be.within(before + seconds - 1, after + seconds + 1);
      expect(kept.get(name)).to.deep.include({
        domain: "expenses.test",
        path: "/",
        httpOnly: true,
        secure: true,
        sameSite: "Lax",
      });
    }
    expect(await page.evaluate<string>("document.cookie")).to.equal("");
    // Another host below the same domain cannot set a cookie of that name, neither for itself nor for all hosts.
    await using neighbour = await otherPage(site.certificate, otherHosts.neighbour, (res) => {
      res.setHeader("Set-Cookie", [
        "__Host-session=planted; Path=/; Secure; Domain=expenses.test",
        "planted=1; Path=/; Secure; Domain=expenses.test",
      ]);
      res.end("set");
    });
    await page.goto(neighbour.url);
    const now = await keptCookies(context);
    expect(now.get("__Host-session")?.value).to.equal(kept.get("__Host-session")?.value);
    expect([...now.keys()]).to.have.members([...names, "planted"]);
    expect(await account(page)).to.equal("/account");
  });

  it("accepts cookies with the names of the session cookies over https only", async () => {
    const { page, context } = await site.visitor();
    await using plain = await listen((_req, res) => {
      const lines = names.map((name) => `${name}=x; Max-Age=900; Path=/; HttpOnly; SameSite=Lax`);
      res.setHeader("Set-Cookie", [...lines, ...lines.map((line) => `${line}; Secure`), "other=x"]);
      res.setHeader("Content-Type", "text/html");
      res.end("set");
    });
    await page.goto(`http://expenses.test:${new URL(plain.url).port}/`);
    expect([...(await keptCookies(context)).keys()]).to.deep.equal(["other"]);
  });

  it("REF-5 continues after the access token has expired, in two tabs concurrently", async () => {
    const { page: one, context } = await signedIn("one");
    const two = await context.newPage();
    for (let round = 0; round < 2; round++) {
      const before = (await keptCookies(context)).get("__Host-refresh")?.value;
      await context.clearCookies({ name: "__Host-session" });
      await Promise.all([arrive(one), arrive(two)]);
      expect([await headingOf(one), await headingOf(two)]).to.deep.equal(["Your account", "Your account"]);
      const kept = await keptCookies(context);
      expect([...kept.keys()]).to.have.members(names);
      expect(kept.get("__Host-refresh")?.value).not.to.equal(before);
    }
  });

  it("ISS-7 ISS-19 lists the user's sessions, and can end its own session and another one", async () => {
    const { page: one } = await signedIn("Browser One");
    const { page: two } = await signedIn("Browser Two", { javaScriptEnabled: false });
    await one.reload();
    const rows = one.getByRole("listitem");
    expect(await rows.filter({ hasText: "Browser One" }).innerText()).to.contain("(current session)");
    const other = rows.filter({ hasText: "Browser Two" });
    expect(await other.innerText()).not.to.contain("(current session)");
    await follow(other.getByRole("button"));
    expect(placeOf(one)).to.equal("/account");
    expect(await rows.filter({ hasText: "Browser Two" }).count()).to.equal(0);
    expect(await account(two)).to.equal("/sign-in?ended=1");
    expect(await account(one)).to.equal("/account");
    await follow(one.getByRole("listitem").filter({ hasText: "Browser One" }).getByRole("button"));
    expect(placeOf(one)).to.equal("/sign-in?signed_out=1");
    expect(await account(one)).to.equal("/sign-in");
  });

  it("REV-10 signs out everywhere and signs in again in the same second", async () => {
    const { page: one } = await signedIn("One");
    const { page: two, context } = await signedIn("Two");
    await follow(one.getByRole("button", { name: "Sign out everywhere" }));
    expect(placeOf(one)).to.equal("/sign-in?signed_out=1");
    expect(await account(two)).to.equal("/sign-in?ended=1");
    expect([...(await keptCookies(context)).keys()]).to.deep.equal([]);
    await one.goto("/sign-in");
    await signInWithPassword(one);
    expect([placeOf(one), await account(one)]).to.deep.equal(["/account", "/account"]);
  });

  it("ISS-5 shows no page from the history after a sign-out, and copies of its cookies are refused", async () => {
    const { page, context } = await signedIn("One");
    const copy = [...(await keptCookies(context)).values()];
    // Delete the access token, so that the sign-out must refresh first.
    await context.clearCookies({ name: "__Host-session" });
    await follow(page.getByRole("button", { name: "Sign out", exact: true }));
    expect(placeOf(page)).to.equal("/sign-in?signed_out=1");
    await page.goBack({ waitUntil: "commit" });
    expect(placeOf(page)).to.equal("/sign-in");
    const { page: other, context: thief } = await site.visitor();
    const cookies = copy.map(({ name, value }) => ({ name, value, url: site.origin, secure: true }));
    await thief.addCookies(cookies);
    expect(await account(other)).to.equal("/sign-in?ended=1");
    await thief.addCookies(cookies.filter(({ name }) => name === "__Host-refresh"));
    expect(await account(other)).to.equal("/sign-in?ended=1");
    const logged = site.logged();
    for (const { value } of copy) expect(logged).not.to.contain(value);
    expect(logged).to.contain('"http_path":"/sign-out"').and.not.to.contain(demoPassword);
  });

  it("EDGE-6 refuses to show the service in a frame of another site", async () => {
    const { page } = await signedIn("Victim");
    for (const host of Object.values(otherHosts)) {
      await using trap = await otherPage(site.certificate, host, (res) => {
        res.setHeader("Content-Type", "text/html");
        res.end(`<iframe src="${site.origin}/account"></iframe>`);
      });
      await page.goto(trap.url);
      // The browser shows its own error page in place of the refused page.
      const [, frame] = page.frames();
      await frame?.waitForURL(/^chrome-error:/, { waitUntil: "commit" });
      expect(frame?.url(), host).to.match(/^chrome-error:/);
    }
  });

  for (const [where, host] of Object.entries(otherHosts)) {
    /** Returns the status of the response to a form that a page of another origin sends. */
    async function sentFromThere(page: Page, path: string): Promise<number> {
      await using trap = await otherPage(site.certificate, host, (res) => {
        res.setHeader("Content-Type", "text/html");
        res.end(`<form method="post" action="${site.origin}${path}">
<input name="email" value="admin@nordic-bikes.example"><input name="password" value="${demoPassword}"></form>
<script>document.forms[0].submit()</script>`);
      });
      const answer = page.waitForResponse(`${site.origin}${path}`);
      await page.goto(trap.url, { waitUntil: "commit" });
      const status = (await answer).status();
      await page.getByRole("heading", { name: "Request refused" }).waitFor();
      return status;
    }

    it(`AUTH-34 gets a 403 and keeps its session when a page of another origin sends a form (${where})`, async () => {
      const { page } = await signedIn("Victim");
      for (const path of ["/sign-out", "/sign-out-everywhere", "/login"]) {
        expect(await sentFromThere(page, path), path).to.equal(403);
      }
      expect(await account(page)).to.equal("/account");
      expect(await page.locator("main").innerText()).to.contain("clerk@harbour-cafe.example");
      // The form does not sign in a new visitor either.
      const { page: fresh, context } = await site.visitor();
      expect(await sentFromThere(fresh, "/login")).to.equal(403);
      expect([...(await keptCookies(context)).keys()]).to.deep.equal([]);
    });
  }
});
