import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { jwtAuth } from "@svc/jwt-auth";
import { problemHandler } from "@svc/problem";
import { expect } from "chai";
import express from "express";
import request from "supertest";
import { sessionCookies } from "../src/session-cookies.ts";
import { visitors } from "../src/visitor.ts";
import { serviceFor } from "./support/running-service.ts";
import { browse, ownForm } from "./support/sign-in.ts";

const operator = "operator@expenses.example";
const foreign: readonly Readonly<Record<string, string>>[] = [
  { Origin: "https://evil.test" },
  { "Sec-Fetch-Site": "cross-site" },
  { "Sec-Fetch-Site": "same-site", Origin: "https://sub.evil.test" },
  { Origin: "null" },
  {},
];
const actions = [
  ["post", "/queue/retry"],
  ["post", "/queue"],
  ["delete", "/queue/stats"],
  ["post", "/sign-out"],
  ["post", "/sign-out-everywhere"],
  ["post", "/sessions/any/sign-out"],
] as const;

describe("a page action that another origin sends with the refresh cookie alone", () => {
  const running = serviceFor(testDatabase({ name: "foreign origin" }), { demoUsers: true });

  it("receives 403 before the refresh token is rotated, and the cookie still works (AUTH-34)", async () => {
    const { refresh } = await browse(running.url, operator);
    await using db = createDatabase({ url: running.databaseUrl });
    const marks = async (): Promise<unknown> =>
      (await db.query("select to_jsonb(svc_auth_marks) as mark from svc_auth_marks order by 1")).rows;
    const before = await marks();
    for (const headers of foreign) {
      for (const [method, path] of actions) {
        const answer = await request(running.url)
          [method](path)
          .set({ ...headers, Cookie: `refresh=${refresh}` })
          .type("form")
          .send("all=1");
        expect([path, headers, answer.status]).to.deep.equal([path, headers, 403]);
        expect(answer.headers["set-cookie"]).to.equal(undefined);
      }
    }
    expect(await marks()).to.deep.equal(before);
    const own = await request(running.url)
      .post("/queue/retry")
      .set({ ...ownForm, Cookie: `refresh=${refresh}` })
      .type("form")
      .send("all=1");
    expect([own.status, own.headers["location"]]).to.deep.equal([303, "../queue?retried=0"]);
    expect(own.headers["set-cookie"]).to.have.length(2);
  });
});

describe("the middleware that identifies the visitor of a page", () => {
  for (const secure of [false, true]) {
    it(`checks the origin before it calls the issuer, with secure: ${secure} (AUTH-34)`, async () => {
      let refreshed = 0;
      const issuer = {
        refresh: () => {
          refreshed++;
          return Promise.reject(new Error("asked"));
        },
      };
      await using auth = jwtAuth({ mode: "secret", secret: "x".repeat(32), algorithms: ["HS256"] });
      const cookies = sessionCookies({ secure, refreshSeconds: 60 });
      const app = express();
      app.use(visitors({ issuer, auth, cookies, secure }), problemHandler());
      const cookie = `${secure ? "__Host-" : ""}refresh=token`;
      for (const method of ["post", "put", "patch", "delete"] as const) {
        for (const headers of foreign) {
          const answer = await request(app)
            [method]("/")
            .set({ ...headers, Cookie: cookie });
          expect(answer.status).to.equal(403);
        }
      }
      expect(refreshed).to.equal(0);
      await request(app)
        .post("/")
        .set({ ...ownForm, Cookie: cookie });
      await request(app).get("/").set("Cookie", cookie);
      expect(refreshed).to.equal(2);
    });
  }
});
