import { until } from "@svc/test-support";
import { expect } from "chai";
import type { Page, Response } from "playwright-core";
import { testSite } from "./support/site.ts";
import { follow, headingOf, keptCookies, placeOf, sayWhoThere, signInThere } from "./support/steps.ts";

const loginCookie = /^__Host-svc_login_[\w-]{16}$/;
const sessionCookies = ["__Host-refresh", "__Host-session"];

describe("sign-in at a provider in a browser", function () {
  this.timeout(30_000);
  const site = testSite("provider", { hasBroken: true });

  /** Opens the sign-in page and follows the link to the provider. */
  async function goThere(page: Page, returnTo = "/account"): Promise<void> {
    await page.goto(`/sign-in?return_to=${encodeURIComponent(returnTo)}`);
    await follow(page.getByRole("link", { name: "Sign in with demo" }));
    await page.getByRole("heading", { name: "Choose a user" }).waitFor();
  }

  /** Returns the response of the callback that follows an action at the provider. */
  async function callback(page: Page, act: () => Promise<void>): Promise<Response> {
    const answer = page.waitForResponse((each) => /\/auth\/\w+\/callback/.test(each.url()));
    await act();
    return answer;
  }

  async function cookiesHere(page: Page): Promise<string[]> {
    const kept = [...(await keptCookies(page.context())).values()];
    return kept.flatMap(({ domain, name }) => (domain.endsWith("expenses.test") ? [name] : [])).toSorted();
  }

  it("OIDC-2 OIDC-10 OIDC-14 leads to the provider's site and back to the requested page, even without JavaScript", async () => {
    const { page } = await site.visitor({ javaScriptEnabled: false });
    await goThere(page, "/whoami");
    expect(new URL(page.url()).hostname).to.equal("127.0.0.1");
    const answer = await callback(page, () => signInThere(page, "The clerk of harbour-cafe"));
    expect(answer.status()).to.equal(303);
    expect(placeOf(page)).to.equal("/whoami");
    expect(JSON.parse(await page.locator("pre").innerText())).to.deep.include({
      signed_in: true,
      subject: "clerk-of-harbour-cafe",
      tenant: "harbour-cafe",
    });
    await page.goto("/account");
    expect(await page.locator("main").innerText()).to.contain("clerk@harbour-cafe.example");
    const { searchParams } = new URL(answer.url());
    for (const name of ["code", "state"]) expect(site.logged()).not.to.contain(searchParams.get(name));
  });

  it("OIDC-4 OIDC-5 OIDC-7 keeps the attempt for 600 s in a cookie hidden from scripts and other hosts", async () => {
    const { page, context } = await site.visitor();
    const before = Date.now() / 1000;
    await goThere(page);
    const after = Date.now() / 1000;
    const [name = "", ...others] = await cookiesHere(page);
    expect(others).to.deep.equal([]);
    expect(name).to.match(loginCookie);
    const cookie = (await keptCookies(context)).get(name);
    expect(cookie).to.deep.include({
      // A cookie with a Domain would have a leading dot here.
      domain: "expenses.test",
      path: "/",
      httpOnly: true,
      secure: true,
      sameSite: "Lax",
    });
    expect(cookie?.expires).to.be.within(before + 599, after + 601);
    await signInThere(page);
    expect(await cookiesHere(page)).to.deep.equal(sessionCookies);
  });

  it("OIDC-5 keeps the cookies of the last five attempts, and completes the last attempt", async () => {
    const { page } = await site.visitor();
    const seen: string[] = [];
    for (let times = 0; times < 7; times++) {
      await page.goto("/auth/demo/start?return_to=/account");
      seen.push(...(await cookiesHere(page)).filter((name) => !seen.includes(name)));
    }
    expect(seen).to.have.length(7);
    expect(await cookiesHere(page)).to.deep.equal(seen.slice(2).toSorted());
    await signInThere(page);
    expect(await headingOf(page)).to.equal("Your account");
    expect(await cookiesHere(page)).to.have.members([...seen.slice(2, 6), ...sessionCookies]);
  });

  it("OIDC-7 succeeds in two tabs concurrently", async () => {
    const { page: one, context } = await site.visitor();
    const two = await context.newPage();
    await goThere(one, "/account?tab=1");
    await goThere(two, "/account?tab=2");
    expect(await cookiesHere(one)).to.have.length(2);
    await sayWhoThere(one);
    await sayWhoThere(two);
    for (const page of [two, one]) await page.getByRole("button", { name: "Allow" }).click();
    await one.waitForURL("**/account?tab=1");
    await two.waitForURL("**/account?tab=2");
    expect([await headingOf(one), await headingOf(two)]).to.deep.equal(["Your account", "Your account"]);
    expect(await cookiesHere(one)).to.deep.equal(sessionCookies);
    for (const page of [one, two]) {
      await page.reload();
      expect(await headingOf(page)).to.equal("Your account");
    }
  });

  it("OIDC-12 refuses to resume or repeat a completed attempt, and keeps the session", async () => {
    const { page } = await site.visitor();
    await goThere(page);
    const answer = await callback(page, () => signInThere(page));
    await page.goBack({ waitUntil: "commit" });
    expect(new URL(page.url()).hostname).to.equal("127.0.0.1");
    // The attempt has ended, even if the browser restores the page. A restored page needs a moment to become active.
    await until("the page is loaded again", () =>
      page.reload().then(
        () => true,
        (error: Error) => {
          if (error.message.includes("Not attached to an active page")) return false;
          throw error;
        },
      ),
    );
    expect(await headingOf(page)).to.equal("Sign-in failed");
    await page.goForward({ waitUntil: "commit" });
    expect(await headingOf(page)).to.equal("Your account");
    const replayed = await page.goto(answer.url());
    expect(replayed?.status()).to.equal(401);
    expect(await headingOf(page)).to.equal("Sign-in failed");
    await follow(page.getByRole("link", { name: "Try again" }));
    // The sign-in page redirects a signed-in visitor.
    await page.waitForURL("**/account");
    expect(await headingOf(page)).to.equal("Your account");
  });

  it("OIDC-12 OIDC-7 shows that the visitor cancelled, and allows another attempt", async () => {
    const { page } = await site.visitor();
    await goThere(page, "/whoami");
    await sayWhoThere(page);
    const cancel = page.getByRole("button", { name: "Cancel" });
    await page.getByRole("heading", { name: "Share your name" }).waitFor();
    const answer = await callback(page, () => follow(cancel));
    expect(answer.status()).to.equal(401);
    expect(await headingOf(page)).to.equal("You did not sign in");
    expect(await cookiesHere(page)).to.deep.equal([]);
    await follow(page.getByRole("link", { name: "Sign in" }));
    await follow(page.getByRole("link", { name: "Sign in with demo" }));
    await signInThere(page);
    expect(await headingOf(page)).to.equal("Your account");
  });

  it("OIDC-12 is refused without the attempt's cookie, in this browser and in another browser", async () => {
    const { page, context } = await site.visitor();
    await goThere(page);
    await context.clearCookies({ name: /svc_login/ });
    const answer = await callback(page, () => signInThere(page));
    expect(answer.status()).to.equal(401);
    expect(await headingOf(page)).to.equal("Sign-in failed");
    expect(await cookiesHere(page)).to.deep.equal([]);
    // Use a code that was not used yet: an attacker would send this link to sign a victim in as the attacker.
    const { page: other } = await site.visitor();
    await goThere(other);
    const refused = await other.goto(answer.url());
    expect(refused?.status()).to.equal(401);
    expect((await cookiesHere(other)).filter((name) => !loginCookie.test(name))).to.deep.equal([]);
    await follow(page.getByRole("link", { name: "Try again" }));
    await follow(page.getByRole("link", { name: "Sign in with demo" }));
    await signInThere(page);
    expect(await headingOf(page)).to.equal("Your account");
  });

  it("OIDC-21 refuses a person without an account, and then lets another user sign in", async () => {
    const { page } = await site.visitor();
    await goThere(page);
    const answer = await callback(page, () => signInThere(page, "A stranger"));
    expect(answer.status()).to.equal(403);
    expect(await headingOf(page)).to.equal("You have no account here");
    expect(await cookiesHere(page)).to.deep.equal([]);
    await follow(page.getByRole("link", { name: "Sign in as another user" }));
    await follow(page.getByRole("link", { name: "Sign in with demo" }));
    await signInThere(page, "The admin of nordic-bikes");
    expect(await page.locator("main").innerText()).to.contain("admin@nordic-bikes.example");
  });

  it("OIDC-12 shows that a provider does not respond, and lets the visitor use another provider", async () => {
    const { page } = await site.visitor();
    await page.goto("/sign-in");
    await follow(page.getByRole("link", { name: "Sign in with broken" }));
    const answer = await callback(page, () => signInThere(page));
    expect(answer.status()).to.equal(503);
    expect(Number(answer.headers()["retry-after"])).to.be.at.least(1);
    expect(await headingOf(page)).to.equal("Temporarily unavailable");
    expect(await cookiesHere(page)).to.deep.equal([]);
    await follow(page.getByRole("link", { name: "Try again" }));
    await follow(page.getByRole("link", { name: "Sign in with demo" }));
    await signInThere(page);
    expect(await headingOf(page)).to.equal("Your account");
  });
});
