import { createServer, IncomingMessage, Server, ServerResponse } from "node:http";
import { expressMajors, listen, rawRequest, rejection } from "@svc/test-support";
import { serve, tune } from "@svc/express";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import { onBothMajors } from "./support/majors.ts";
import { startService } from "./support/test-service.ts";

describe("tune()", () => {
  for (const [title, value, kind] of [
    ["null", null, "null"],
    ["nothing", undefined, "undefined"],
    ["a function that is not an application", () => undefined, "another function"],
    ["an HTTP server", new Server(), "another object"],
    ["a string", "app", "a string"],
    ["a router of Express 4", expressMajors["express 4"].Router(), "another function"],
    ["a router of Express 5", expressMajors["express 5"].Router(), "another function"],
    ["express itself", expressMajors["express 5"], "another function"],
    ["its own result", tune(expressMajors["express 5"]()), "another object"],
  ] as const) {
    it(`rejects ${title} with an error that names the type of the value`, () => {
      expect(() => tune(value)).to.throw(
        ConfigurationError,
        `app: must be an Express application, as returned by express(); it is ${kind}`,
      );
    });
  }

  onBothMajors((express) => {
    function makeApp(): Express {
      const app = express();
      app.get("/", (req, res) => void res.json({ own: req.app === app && res.app === app }));
      app.get("/text", (_req, res) => void res.send("text"));
      return app;
    }

    /** Returns the prototypes of the request and the response at their creation, before Express handles them. */
    async function prototypesAtBirth(app: Express, classes: object): Promise<unknown[]> {
      await using server = await listen(createServer(classes, app));
      const born: unknown[] = [];
      server.server.prependListener("request", (req, res) => {
        born.push(Object.getPrototypeOf(req), Object.getPrototypeOf(res));
      });
      expect((await request(server.url).get("/")).body).to.deep.equal({ own: true });
      return born;
    }

    it("returns classes whose objects have the prototypes that Express would give them", async () => {
      const app = makeApp();
      expect(await prototypesAtBirth(app, {})).to.deep.equal([
        IncomingMessage.prototype,
        ServerResponse.prototype,
      ]);
      const [req, res] = await prototypesAtBirth(app, tune(app));
      expect(req).to.equal(app.request);
      expect(res).to.equal(app.response);
    });

    it("keeps the prototypes, settings and extensions that the application had", async () => {
      const app = makeApp();
      const { request: requests, response: responses } = app;
      const before = { ...app.settings, "etag fn": undefined };
      tune(app);
      expect(app.request).to.equal(requests);
      expect(app.response).to.equal(responses);
      expect({ ...app.settings, "etag fn": undefined }).to.deep.equal(before);
      expect(Object.keys(app.response)).to.deep.equal(["app"]);
    });

    it("returns the same classes when it is called again, and changes nothing", async () => {
      const app = makeApp();
      const classes = tune(app);
      const chain = Object.getPrototypeOf(app.response) as object;
      expect(tune(app)).to.equal(classes);
      expect(Object.getPrototypeOf(app.response)).to.equal(chain);
    });

    it("changes no response when it is called while the server runs", async () => {
      const app = makeApp();
      await using server = await listen(app);
      const answers = async (): Promise<unknown[]> =>
        Promise.all(
          ["/", "/text", "/nowhere"].map(async (path) => {
            const { status, text, headers } = await request(server.url).get(path);
            return { status, text, headers: { ...headers, date: undefined } };
          }),
        );
      const before = await answers();
      tune(app);
      expect(await answers()).to.deep.equal(before);
    });

    it("keeps the application's ETag function, and calls it with the same arguments as Express", async () => {
      const calls: unknown[][] = [];
      const own = (...args: unknown[]): string => {
        calls.push(args);
        return '"own"';
      };
      const app = makeApp();
      app.set("etag", own);
      const classes = tune(app);
      expect(app.get("etag fn")).to.equal(own);
      await using server = await listen(createServer(classes, app));
      expect((await request(server.url).get("/")).headers["etag"]).to.equal('"own"');
      expect(calls).to.deep.equal([[Buffer.from('{"own":true}'), undefined]]);
    });

    it("respects settings that change after the call", async () => {
      const app = makeApp();
      await using server = await listen(createServer(tune(app), app));
      const tagOf = async (): Promise<string | undefined> =>
        (await request(server.url).get("/")).headers["etag"];
      expect(await tagOf()).to.match(/^W\/"/);
      app.set("etag", "strong");
      expect(await tagOf()).to.match(/^"/);
      app.set("etag", false);
      expect(await tagOf()).to.equal(undefined);
      app.set("etag", "weak");
      app.set("json spaces", 1);
      expect((await request(server.url).get("/")).text).to.equal('{\n "own": true\n}');
    });

    it("passes every call to a res.json that was replaced before or after tuning", async () => {
      const seen: string[] = [];
      const app = makeApp();
      const replace = (name: string): void => {
        const { json } = app.response;
        app.response.json = function replaced(this: typeof app.response, body: unknown) {
          seen.push(name);
          return json.call(this, body);
        } as typeof json;
      };
      replace("before");
      const classes = tune(app);
      replace("after");
      await using server = await listen(createServer(classes, app));
      await request(server.url).get("/");
      expect(seen).to.deep.equal(["after", "before"]);
    });

    it("passes every call to a method that a tool has replaced in Express itself", async () => {
      const shared = Object.getPrototypeOf(express().response) as { json: Express["response"]["json"] };
      const { json } = shared;
      let seen = 0;
      const watch = (): void => {
        shared.json = function watched(this: Express["response"], body: unknown) {
          seen++;
          return json.call(this, body);
        } as typeof json;
      };
      try {
        const early = makeApp();
        const earlyClasses = tune(early);
        watch();
        const late = makeApp();
        for (const [app, classes] of [
          [early, earlyClasses],
          [late, tune(late)],
        ] as const) {
          await using server = await listen(createServer(classes, app));
          expect((await request(server.url).get("/")).body).to.deep.equal({ own: true });
        }
      } finally {
        shared.json = json;
      }
      expect(seen).to.equal(2);
    });

    for (const [name, replacement] of [
      [
        "set",
        function set(this: ServerResponse, field: string, value: string) {
          return this.setHeader(field, value).setHeader("X-Tool", "set");
        },
      ],
      [
        "get",
        function get(this: ServerResponse, field: string) {
          return this.setHeader("X-Tool", "get").getHeader(field);
        },
      ],
      [
        "json",
        function json(this: Express["response"], body: unknown) {
          const indent = this.app.get("json replacer") === undefined ? 1 : 0;
          return this.set("X-Tool", "json").send(JSON.stringify(body, null, indent));
        },
      ],
    ] as const) {
      it(`calls a res.${name} that a tool replaced before tuning`, async () => {
        const shared = Object.getPrototypeOf(express().response) as Record<string, unknown>;
        const { [name]: own } = shared;
        shared[name] = replacement;
        try {
          const app = makeApp();
          await using server = await listen(createServer(tune(app), app));
          expect((await request(server.url).get("/")).headers["x-tool"]).to.equal(name);
        } finally {
          shared[name] = own;
        }
      });
    }

    it("uses a req.fresh that is defined on a single request", async () => {
      const app = express();
      app.get("/", (req, res) => {
        Object.defineProperty(req, "fresh", { value: true });
        res.json({ a: 1 });
      });
      await using server = await listen(createServer(tune(app), app));
      expect((await request(server.url).get("/")).status).to.equal(304);
    });

    const holders: Readonly<Record<string, (app: Express, res: ServerResponse) => object>> = {
      "one response": (_app, res) => res,
      "app.response": (app) => app.response,
      "Express itself": () => Object.getPrototypeOf(express().response) as object,
      Node: () => ServerResponse.prototype,
    };
    for (const [title, holderOf] of Object.entries(holders)) {
      it(`passes every header of a response to a res.setHeader that was replaced on ${title}`, async () => {
        const seen = new Set<string>();
        async function ask(app: Express, classes: object): Promise<void> {
          await using server = await listen(createServer(classes, app));
          expect((await request(server.url).get("/json")).body).to.deep.equal({ a: 1 });
        }
        const routes = (app: Express): void => {
          app.get("/json", (_req, res) => {
            const holder = holderOf(app, res) as ServerResponse;
            const own = Object.getOwnPropertyDescriptor(holder, "setHeader");
            // oxlint-disable-next-line typescript/unbound-method -- called with its response below
            const { setHeader } = holder;
            holder.setHeader = function watched(this: ServerResponse, name: string, value: string) {
              seen.add(name);
              return setHeader.call(this, name, value);
            } as ServerResponse["setHeader"];
            try {
              res.json({ a: 1 });
            } finally {
              Reflect.deleteProperty(holder, "setHeader");
              if (own !== undefined) Object.defineProperty(holder, "setHeader", own);
            }
          });
        };
        const app = express();
        routes(app);
        await ask(app, tune(app));
        expect([...seen]).to.deep.equal(["Content-Type", "Content-Length", "ETag"]);
        seen.clear();
        await using test = await startService({ app: express(), routes });
        await request(test.url).get("/json");
        expect([...seen]).to.include.members(["Content-Type", "Content-Length", "ETag"]);
      });
    }

    for (const etag of ["weak", false] as const) {
      it(`encodes non-ASCII headers as Express does with etag ${etag}`, async () => {
        const answers: string[] = [];
        for (const tuned of [false, true]) {
          const app = express();
          app.set("etag", etag);
          app.get("/:size", (req, res) => {
            res.setHeader("X-Name", "caf\xe9").json({ text: "a".repeat(Number(req.params.size)) });
          });
          await using server = await listen(createServer(tuned ? tune(app) : {}, app));
          let text = "";
          for (const size of [1, 2000]) {
            const head = `GET /${size} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
            text += (await rawRequest(server.port, head)).text;
          }
          answers.push(text.replaceAll(/^Date: .*$/gm, ""));
        }
        expect(answers[1]).to.equal(answers[0]);
      });
    }

    it("leaves mounted applications their own req.app and their parent's later extensions, at any depth", async () => {
      const inner = makeApp();
      const app = express();
      app.use("/in", inner);
      tune(app);
      Object.assign(app.response, { later: true });
      expect("later" in inner.response).to.equal(true);
      const outer = express();
      outer.use("/out", app);
      await using server = await listen(outer);
      expect((await request(server.url).get("/out/in/")).body).to.deep.equal({ own: true });
    });

    for (const wanted of [true, false]) {
      it(`is ${wanted ? "called by serve()" : "not called by serve() with tune: false"}`, async () => {
        const app = makeApp();
        await using serving = await serve(app, {
          port: 0,
          host: "127.0.0.1",
          drainDelaySeconds: 0,
          signals: false,
          ...(wanted ? {} : { tune: false }),
        });
        let born: unknown;
        serving.server.prependListener("request", (req) => (born = Object.getPrototypeOf(req)));
        await request(`http://127.0.0.1:${serving.address.port}`).get("/");
        expect(born).to.equal(wanted ? app.request : IncomingMessage.prototype);
      });
    }
  });

  it("is not called by serve() for a listener that is not an Express application", async () => {
    await using serving = await serve((_req, res) => void res.end("plain"), {
      port: 0,
      host: "127.0.0.1",
      drainDelaySeconds: 0,
      signals: false,
    });
    const { text } = await request(`http://127.0.0.1:${serving.address.port}`).get("/");
    expect(text).to.equal("plain");
  });

  it("is controlled by serve()'s option `tune`, which must be a boolean", async () => {
    const wrong = serve(() => undefined, { tune: "no" as unknown as boolean });
    expect(String(await rejection(wrong))).to.contain('tune: must be true or false; it is "no"');
  });
});
