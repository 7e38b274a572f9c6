import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import request from "supertest";
import { caller } from "./support/caller.ts";
import { serviceFor } from "./support/running-service.ts";
import { browse, logIn } from "./support/sign-in.ts";

describe("the queue page", () => {
  const running = serviceFor(testDatabase({ name: "queue page" }), { demoUsers: true });

  it("JOB-32 admits only operators; others are redirected to the sign-in page or refused", async () => {
    const page = request(running.url).get("/queue").set("Accept", "text/html");
    expect((await page).headers["location"]).to.equal("/sign-in?return_to=%2Fqueue");
    const admin = await browse(running.url, "admin@harbour-cafe.example");
    const refused = await request(running.url)
      .get("/queue")
      .set({ Cookie: admin.cookie, Accept: "text/html" });
    expect([refused.status, refused.type]).to.deep.equal([403, "text/html"]);
    expect(refused.text).to.contain("You are not allowed to see this page");
    expect((await caller(running.url, "acme", { roles: ["admin"] }).get("/queue/stats")).status).to.equal(
      403,
    );
    const operator = await browse(running.url, "operator@expenses.example");
    const shown = await request(running.url).get("/queue").set("Cookie", operator.cookie);
    expect([shown.status, shown.type]).to.deep.equal([200, "text/html"]);
  });

  it("JOB-32 returns the counts as JSON to a program with an operator's token", async () => {
    const { access_token } = await logIn(running.url, "operator@expenses.example");
    const asked = request(running.url).get("/queue/stats").set("Authorization", `Bearer ${access_token}`);
    expect((await asked).body).to.deep.equal({ pending: 0, running: 0, dead: 0 });
    const expenses = request(running.url).get("/expenses").set("Authorization", `Bearer ${access_token}`);
    expect((await expenses).status).to.equal(403);
  });
});
