import { answerRefusal, bodyOf, jsonBody, readText } from "@svc/json-body";
import { problemHandler } from "@svc/problem";
import { expressMajors, listen, type Listening } from "@svc/test-support";
import { expect } from "chai";
import type { RequestHandler } from "express";
import { post, serve } from "./support/stacks.ts";

const text = { "Content-Type": "text/plain" };

describe("jsonBody({ otherTypes })", () => {
  it("leaves req.body undefined for other types on a server without Express, even with refuse (ERR-18)", async () => {
    for (const options of [{}, { otherTypes: "leave" }, { otherTypes: "refuse" }] as const) {
      await using server = await serve("bare http", options);
      expect((await post(server.url, "a", text)).body).to.deep.equal({ parsed: false });
    }
  });

  it("rejects a value other than leave and refuse", () => {
    // @ts-expect-error -- JavaScript callers can pass any value
    expect(() => jsonBody({ otherTypes: "reject" })).to.throw("otherTypes: must be one of");
  });

  for (const [major, express] of Object.entries(expressMajors)) {
    describe(`refuse, on ${major}`, () => {
      function app(route: RequestHandler, front: readonly RequestHandler[] = []): Promise<Listening> {
        const made = express();
        made.use(...front, jsonBody({ otherTypes: "refuse" }) as RequestHandler);
        made.post("/", route);
        made.use(problemHandler());
        return listen(made);
      }

      it("returns 415 when a route reads req.body (ERR-18)", async () => {
        await using server = await app((req, res) => res.json({ got: req.body as unknown }));
        const { status, headers, body } = await post(server.url, "a", text);
        expect([status, headers.get("accept"), body.detail]).to.deep.equal([
          415,
          "application/json, application/*+json",
          "no parser of this route accepts a body of this content type",
        ]);
        expect((await post(server.url, '{"a":1}')).body).to.deep.equal({ got: { a: 1 } });
        expect((await post(server.url, undefined, text)).body).to.deep.equal({});
      });

      it("returns 415 each time a route reads req.body, and closes the connection of a long body (ERR-18)", async () => {
        let thrown = 0;
        await using server = await app((req, res) => {
          for (let n = 0; n < 2; n++) {
            try {
              void req.body;
            } catch {
              thrown++;
            }
          }
          return res.json({ got: req.body as unknown });
        });
        const { status, headers } = await post(server.url, "x".repeat(2 * 1024 * 1024 + 1), text);
        expect([status, headers.get("connection"), thrown]).to.deep.equal([415, "close", 2]);
      });

      it("ignores a body that an earlier parser has read or begun to read (ERR-18)", async () => {
        await using parsed = await app(
          (req, res) => res.json({ got: req.body as unknown }),
          [express.text()],
        );
        expect((await post(parsed.url, "a", text)).body).to.deep.equal({ got: "a" });
        await using begun = await app(
          (req, res) => res.json({ got: req.body ?? null }),
          [((req, _res, next) => void req.once("end", next).resume()) satisfies RequestHandler],
        );
        expect((await post(begun.url, "a", text)).body).to.deep.equal({ got: null });
      });

      it("makes req.body undefined after the response has begun or the client has disconnected (ERR-18)", async () => {
        const begun = Promise.withResolvers<unknown>();
        const gone = Promise.withResolvers<unknown>();
        await using server = await app((req, res) => {
          if (req.query["begin"] !== undefined) {
            res.writeHead(200, { "Content-Type": "application/json" });
            begun.resolve(req.body);
            res.end("{}");
          } else {
            res.once("close", () => gone.resolve(req.body));
            req.socket.destroy();
          }
        });
        expect((await post(`${server.url}/?begin`, "a", text)).status).to.equal(200);
        expect(await begun.promise).to.equal(undefined);
        await post(server.url, "a", text).catch(() => undefined);
        expect(await gone.promise).to.equal(undefined);
      });

      it("bodyOf() returns undefined while req.body throws, and later the parser's value (ERR-18)", async () => {
        await using server = await app(async (req, res) => {
          const before = bodyOf(req) === undefined;
          req.body = await readText(req, { maxBytes: 10 });
          res.json({ before, after: bodyOf(req), own: Object.keys(req).includes("body") });
        });
        expect((await post(server.url, "a", text)).body).to.deep.equal({
          before: true,
          after: "a",
          own: true,
        });
      });

      it("answerRefusal() responds to a refusal that no error handler received, and only once (ERR-18)", async () => {
        const answered: boolean[] = [];
        await using server = await app((req) => {
          try {
            void req.body;
          } catch (error) {
            answered.push(answerRefusal(error), answerRefusal(error), answerRefusal(new Error("other")));
          }
        });
        expect((await post(server.url, "a", text)).status).to.equal(415);
        expect(answered).to.deep.equal([true, true, false]);
        expect(answerRefusal(undefined)).to.equal(false);
      });
    });
  }
});
