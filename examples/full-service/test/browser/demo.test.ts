import { freePort, testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import { demoProcess, temporaryCheckout } from "../support/demo-process.ts";
import { testBrowser } from "./support/browser.ts";
import { follow, headingOf, keptCookies, signInThere, signInWithPassword } from "./support/steps.ts";

describe("the demo in a browser", function () {
  this.timeout(60_000);
  const browser = testBrowser();
  const database = testDatabase({ name: "browser demo" });

  it("signs a person in with a password and with the demo provider over plain http", async () => {
    using checkout = temporaryCheckout();
    const env = { SVC_PORT: String(await freePort()), DATABASE_URL: database.url, PASSWORDS: "kept well" };
    await using demo = demoProcess(checkout, env);
    const { page, context } = await browser.visitor({ baseURL: await demo.opened });
    await page.goto("/");
    await follow(page.getByRole("link", { name: "/sign-in" }));
    await signInWithPassword(page, "admin@stone-and-leaf.example");
    expect(await page.locator("main").innerText()).to.contain("admin@stone-and-leaf.example");
    await follow(page.getByRole("button", { name: "Sign out", exact: true }));
    await follow(page.getByRole("link", { name: "Sign in with demo" }));
    await signInThere(page, "The clerk of nordic-bikes");
    expect(await headingOf(page)).to.equal("Your account");
    expect(await page.locator("main").innerText()).to.contain("clerk@nordic-bikes.example");
    const kept = [...(await keptCookies(context)).values()];
    const here = kept
      .filter(({ domain }) => domain === "localhost")
      .map(({ name, secure }) => ({ name, secure }));
    expect(here).to.have.deep.members([
      { name: "session", secure: false },
      { name: "refresh", secure: false },
    ]);
    demo.interrupt();
    const { code, stdout, stderr } = await demo.ended;
    expect(code).to.equal(0);
    // The provider's own notices must appear neither in the log nor on the console.
    expect(`${stdout}${stderr}`).not.to.contain("oidc-provider");
    for (const line of stdout.trim().split("\n"))
      expect(() => JSON.parse(line) as unknown, line).not.to.throw();
  });
});
