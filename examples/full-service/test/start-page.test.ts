import { testDatabase } from "@svc/dev-services";
import { createService } from "@svc/express";
import { expect } from "chai";
import request from "supertest";
import { expensesService } from "../src/service.ts";
import { authEnv } from "./support/caller.ts";
import { untilReady } from "./support/ready.ts";
import { serviceFor } from "./support/running-service.ts";
import { logIn } from "./support/sign-in.ts";

/** The page's text about a link, and the status that the link must return. */
const claims: readonly (readonly [RegExp, number])[] = [
  [/a 401 problem/, 401],
  [/a 404 problem/, 404],
  [/after sign-in/, 303],
  [/./, 200],
];

describe("the start page", () => {
  const running = serviceFor(testDatabase({ name: "start page" }), { seed: true, demoUsers: true });

  async function links(): Promise<readonly (readonly [href: string, text: string])[]> {
    const { text } = await request(running.url).get("/");
    return [...text.matchAll(/<a href="([^"]+)">[^<]*<\/a>: ([^<]+)<\/li>/g)].map(
      ([, href = "", words = ""]) => [href.replaceAll("&amp;", "&"), words] as const,
    );
  }

  /** Signs in with the given body and returns a client that sends the token. */
  async function caller(body: string): Promise<ReturnType<typeof request.agent>> {
    const { email, password } = JSON.parse(body) as Readonly<Record<string, string>>;
    const { access_token } = await logIn(running.url, email ?? "", password);
    return request.agent(running.url).set("Authorization", `Bearer ${access_token}`);
  }

  before("the tables", () => untilReady(running.url));

  it("is an HTML document with a language and the security headers of helmet", async () => {
    const { status, headers, text } = await request(running.url).get("/");
    expect(status).to.equal(200);
    expect(headers["content-type"]).to.equal("text/html; charset=utf-8");
    expect(text)
      .to.match(/^<!doctype html>\n<html lang="en">/)
      .and.to.match(/<\/html>\n$/);
    expect(text.match(/<title>[^<]+<\/title>/)).to.have.length(1);
    expect(text.match(/<h1>/g)).to.have.length(1);
    expect(text).not.to.match(/<script|&(?!amp;|quot;|#39;)/);
    expect(headers["content-security-policy"])
      .to.contain("default-src 'self'")
      .and.to.contain("object-src 'none'");
    expect(headers["x-content-type-options"]).to.equal("nosniff");
    expect(headers["cross-origin-opener-policy"]).to.equal("same-origin");
    expect(headers["x-frame-options"]).to.equal("SAMEORIGIN");
  });

  it("closes every element that it opens", async () => {
    const { text } = await request(running.url).get("/");
    const open: string[] = [];
    for (const [, slash, name = ""] of text.matchAll(/<(\/?)([a-z][a-z0-9]*)/g)) {
      if (["meta", "link", "input"].includes(name)) continue;
      if (slash === "") open.push(name);
      else expect(open.pop()).to.equal(name);
    }
    expect(open).to.deep.equal([]);
  });

  it("has links that work as described", async () => {
    const all = await links();
    expect(all).to.have.length(11);
    for (const [href, words] of all) {
      const { status, type } = await request(running.url).get(href);
      const expected = claims.find(([pattern]) => pattern.test(words))?.[1];
      expect({ href, status }).to.deep.equal({ href, status: expected });
      if (status >= 400) expect(type).to.equal("application/problem+json");
    }
  });

  it("shows calls that work as described, with a demo token", async () => {
    const { text } = await request(running.url).get("/");
    const shown = text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
    const [, place = ""] = /(http:\/\/localhost:\d+\/expenses)/.exec(shown) ?? [];
    expect(new URL(place).port).to.equal(new URL(running.url).port);
    const [ofClerk = "", ofAdmin = ""] = [...shown.matchAll(/\/login .* -d '([^']+)'/g)].map(
      ([, body = ""]) => body,
    );
    const somebody = await caller(ofClerk);
    const [, listing = ""] = /(\/expenses\?month=[^']+)'/.exec(shown) ?? [];
    const { status, body } = await somebody.get(listing);
    expect([status, (body as { expenses: object[] }).expenses.length > 0]).to.deep.equal([200, true]);
    const [, sent = ""] = /-d '({"category[^']+)'/.exec(shown) ?? [];
    expect((await somebody.post("/expenses").type("json").send(sent)).status).to.equal(201);
    expect((await somebody.get("/totals")).status).to.equal(403);
    expect((await (await caller(ofAdmin)).get("/totals")).status).to.equal(200);
    expect((await somebody.get("/expenses").set("Host", "nordic-bikes.localhost")).status).to.equal(403);
  });

  it("links to neither /info nor /queue in prod, and shows no demo password", async () => {
    const env = { SVC_ENV: "prod", DATABASE_URL: "postgres://nobody@127.0.0.1:1/none", ...authEnv };
    await using service = await createService({
      ...expensesService(env),
      signals: false,
      logDestination: { write: () => undefined },
    });
    const { status, text } = await request(service.app).get("/");
    expect(status).to.equal(200);
    expect(text)
      .to.contain('href="/health"')
      .and.not.to.contain('href="/info"')
      .and.not.to.contain('href="/queue"')
      .and.not.to.contain("expenses-demo");
  });
});
