import { randomBytes } from "node:crypto";
import { expect } from "chai";
import type { Express, RequestHandler } from "express";
import type { HelmetOptions } from "helmet";
import type { HelmetOptions as CommonJsHelmetOptions } from "helmet" with { "resolution-mode": "require" };
import request from "supertest";
import type { PageHelmet, PageHelmetOptions } from "@svc/express";
import { onBothMajors } from "./support/majors.ts";
import { refusalOf } from "./support/refusal-of.ts";
import { makeService, type TestServiceOptions } from "./support/test-service.ts";

const page = "<!doctype html><title>hello</title>";

type Headers = Readonly<Record<string, string>>;

function routes(app: Express): void {
  app.get("/page", (_req, res) => void res.send(page));
  app.get("/data", (_req, res) => void res.json({}));
  app.get("/nonce", (_req, res) => void res.send(String(res.locals["nonce"])));
}

async function headersOf(path: string, options: TestServiceOptions): Promise<Headers> {
  const { service } = await makeService({ routes, ...options });
  await using _ = service;
  const answer = await request(service.app).get(path).set("X-Request-ID", "r-1");
  return answer.headers as Headers;
}

/** Returns one directive of a policy. */
function directive(headers: Headers, name: string): string | undefined {
  const policy = headers["content-security-policy"] ?? "";
  return policy.split(";").find((each) => each.startsWith(`${name} `));
}

const setNonce: RequestHandler = (_req, res, next) => {
  res.locals["nonce"] = randomBytes(16).toString("base64");
  next();
};

describe("createService({ helmet })", function () {
  this.timeout(30_000);

  it("EDGE-7 applies the options to pages only; data responses keep their four headers", async () => {
    const helmet: PageHelmet = {
      contentSecurityPolicy: { directives: { scriptSrc: ["'self'", "https://cdn.example"] } },
      xFrameOptions: false,
      referrerPolicy: { policy: "same-origin" },
    };
    const onPage = await headersOf("/page", { helmet });
    expect(directive(onPage, "script-src")).to.equal("script-src 'self' https://cdn.example");
    expect(directive(onPage, "object-src")).to.equal("object-src 'none'");
    expect(onPage).to.include({ "referrer-policy": "same-origin", "x-content-type-options": "nosniff" });
    expect(onPage).to.not.have.property("x-frame-options");
    expect(onPage).to.not.have.property("x-powered-by");
    const onData = await headersOf("/data", { helmet });
    expect(onData).to.include({
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    });
  });

  it("omits https-only headers in local, unless the options contain them, and sends them in prod", async () => {
    const helmet: PageHelmet = { contentSecurityPolicy: { directives: { imgSrc: ["*"] } } };
    const local = await headersOf("/page", { helmet });
    expect(local).to.not.have.property("strict-transport-security");
    expect(local["content-security-policy"]).to.not.contain("upgrade-insecure-requests");
    const prod = await headersOf("/page", { helmet, toml: 'env = "prod"' });
    expect(prod).to.have.property("strict-transport-security");
    expect(prod["content-security-policy"]).to.contain("upgrade-insecure-requests");
    const given = await headersOf("/page", {
      helmet: {
        hsts: { maxAge: 60 },
        contentSecurityPolicy: { directives: { upgradeInsecureRequests: [] } },
      },
    });
    expect(given).to.include({ "strict-transport-security": "max-age=60; includeSubDomains" });
    expect(given["content-security-policy"]).to.contain("upgrade-insecure-requests");
  });

  onBothMajors((express) => {
    it("calls functions in directives for each page, with the response that has the nonce", async () => {
      const helmet: PageHelmet = {
        contentSecurityPolicy: {
          directives: {
            scriptSrc: ["'self'", (_req, res) => `'nonce-${(res as unknown as WithLocals).locals["nonce"]}'`],
          },
        },
      };
      await expectNonces(helmet);
    });

    it("calls a function that returns options for each page", async () => {
      await expectNonces((_req, res) => ({
        contentSecurityPolicy: {
          useDefaults: false,
          directives: { defaultSrc: [`'nonce-${String(res.locals["nonce"])}'`] },
        },
      }));
    });

    interface WithLocals {
      readonly locals: Readonly<Record<string, string>>;
    }

    async function expectNonces(helmet: PageHelmet): Promise<void> {
      const app = express() as Express;
      const { service } = await makeService({ helmet, routes, app, middleware: [setNonce as never] });
      await using _ = service;
      const nonces = new Set<string>();
      for (let i = 0; i < 3; i++) {
        const { text, headers } = await request(service.app).get("/nonce");
        expect((headers as Headers)["content-security-policy"]).to.contain(`'nonce-${text}'`);
        nonces.add(text);
      }
      expect(nonces.size).to.equal(3);
    }
  });

  for (const [what, helmet, error] of [
    ["throws", () => expect.fail("no nonce"), "no nonce"],
    [
      "returns a value that no header can have",
      () => ({ contentSecurityPolicy: { directives: { scriptSrc: ["a\nb"] } } }),
      "Invalid character",
    ],
    [
      "returns a promise",
      (async () => ({ frameguard: false })) as never,
      "helmet(): must return options of helmet synchronously; it returned a promise",
    ],
    [
      "returns a promise that rejects",
      (async () => expect.fail("no nonce")) as never,
      "helmet(): must return options of helmet synchronously; it returned a promise",
    ],
    [
      "has a directive with a promise that rejects",
      () => ({
        contentSecurityPolicy: {
          directives: { scriptSrc: [(async () => expect.fail("no nonce")) as never] },
        },
      }),
      "helmet.contentSecurityPolicy.directives.scriptSrc: must return text synchronously; it returned a promise",
    ],
    ["returns nothing", (() => undefined) as never, "helmet(): must return an object of options of helmet"],
    [
      "returns an unknown option",
      () => ({ contentSecurityPolice: false }) as PageHelmetOptions,
      "helmet.contentSecurityPolice: is unknown; did you mean contentSecurityPolicy?",
    ],
  ] as const) {
    it(`sends the default headers and logs an error if a function ${what}`, async () => {
      const { service, lines } = await makeService({ helmet, routes });
      await using _ = service;
      const { status, headers } = await request(service.app).get("/page");
      expect(status).to.equal(200);
      expect(directive(headers as Headers, "script-src")).to.equal("script-src 'self'");
      const line = lines.find(({ level }) => level === "error");
      expect(line?.["message"]).to.equal(
        "the option helmet failed; the page has the default security headers",
      );
      expect((line?.["err"] as Error | undefined)?.message).to.contain(error);
      // A failing function must not flood the log.
      await request(service.app).get("/page");
      expect(lines.filter(({ level }) => level === "error")).to.have.length(1);
    });
  }

  it("accepts options with helmet's types for ES modules and for CommonJS", async () => {
    const options: HelmetOptions = { contentSecurityPolicy: false };
    const ofCommonJs: CommonJsHelmetOptions = { contentSecurityPolicy: false };
    for (const helmet of [options, ofCommonJs, () => options, () => ofCommonJs] satisfies PageHelmet[])
      expect(await headersOf("/page", { helmet })).to.not.have.property("content-security-policy");
  });

  it("sends error pages of kind web with the nonce of the response", async () => {
    const { service } = await makeService({
      kind: "web",
      middleware: [setNonce as never],
      helmet: (_req, res) => ({
        contentSecurityPolicy: { directives: { scriptSrc: [`'nonce-${String(res.locals["nonce"])}'`] } },
      }),
      errorPage: (_problem, req) => String(req.res?.locals["nonce"]),
    });
    await using _ = service;
    const { status, text, headers } = await request(service.app).get("/nowhere").set("Accept", "text/html");
    expect([status, text.length]).to.deep.equal([404, 24]);
    expect(directive(headers as Headers, "script-src")).to.equal(`script-src 'nonce-${text}'`);
  });

  it("PROF-7 replaces the headers of kind web that the options contain, and keeps the others", async () => {
    const kind = "web";
    const helmet: PageHelmet = { contentSecurityPolicy: { directives: { imgSrc: ["*"] } } };
    const some = await headersOf("/page", { kind, helmet });
    expect(directive(some, "img-src")).to.equal("img-src *");
    expect(some).to.include({ "x-frame-options": "DENY", "referrer-policy": "same-origin" });
    const none = await headersOf("/page", { kind, helmet: { xDnsPrefetchControl: { allow: true } } });
    expect(none["content-security-policy"]).to.contain("form-action 'self'; frame-ancestors 'none'");
    expect(none).to.include({ "x-dns-prefetch-control": "on" });
    const fromFunction = await headersOf("/page", { kind, helmet: () => ({ frameguard: false }) });
    expect(fromFunction).to.not.have.property("x-frame-options");
    expect(fromFunction).to.include({ "referrer-policy": "same-origin" });
  });

  it("CFG-12 lists a wrong option of helmet together with the faults of other options and of the file", async () => {
    const helmet = { contentSecurityPolice: false } as PageHelmet;
    const unknown = "helmet.contentSecurityPolice: is unknown; did you mean contentSecurityPolicy?";
    expect(await refusalOf({ helmet }, "nope = 1"))
      .to.contain(unknown)
      .and.to.contain("service.nope: is unknown");
    expect(await refusalOf({ helmet, rawBodyPaths: ["x"] }, "nope = 1"))
      .to.contain(unknown)
      .and.to.contain("service.nope: is unknown")
      .and.to.contain("rawBodyPaths: must be a list");
    expect(await refusalOf({ helmet: 5 as never, rawBodyPaths: ["x"] }, "nope = 1"))
      .to.contain("helmet: must be an object of options of helmet")
      .and.to.contain("service.nope: is unknown");
  });

  it("rejects options that helmet rejects or does not know, and options without effect", async () => {
    const invalid = { contentSecurityPolicy: { directives: { "default-src": ["a;b"] } } };
    expect(await refusalOf({ helmet: invalid })).to.contain("helmet: has options that helmet refuses: ");
    const twice = { hsts: true, strictTransportSecurity: true } as unknown as PageHelmet;
    expect(await refusalOf({ helmet: twice })).to.contain("helmet: has options that helmet refuses: ");
    const unknown = { contentSecurityPolice: false } as PageHelmet;
    expect(await refusalOf({ helmet: unknown })).to.contain(
      "helmet.contentSecurityPolice: is unknown; did you mean contentSecurityPolicy?",
    );
    expect(await refusalOf({ helmet: 5 as never })).to.contain(
      "helmet: must be an object of options of helmet, or a function that returns it",
    );
    expect(await refusalOf({ helmet: {} }, "security_headers = false")).to.contain(
      "helmet: has no effect while service.security_headers is false; remove one of them",
    );
  });
});
