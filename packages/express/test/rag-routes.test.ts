import { randomBytes } from "node:crypto";
import { openOtlpReceiver } from "@svc/test-support/otlp";
import type { ServiceOptions } from "@svc/express";
import { searchRoutes } from "@svc/search-store/routes";
import { until } from "@svc/test-support";
import { expect } from "chai";
import express from "express";
import express4 from "express4";
import request from "supertest";
import { ragOn, ragToml } from "./support/rag-service.ts";
import { startService } from "./support/test-service.ts";
import { vectorServer } from "./support/vector-server.ts";

const TENANCY = '[plugin.tenancy]\nsources = ["header"]\n';
const majors = { "express 4": express4 as unknown as typeof express, "express 5": express };
const acme = { "X-Tenant-ID": "acme" };

const routes: ServiceOptions["routes"] = (app, { search }) => {
  if (search === undefined) return;
  const guard: Parameters<typeof searchRoutes>[0]["guard"] = (req, res, next) => {
    if (req.headers["x-key"] === "no") res.writeHead(403).end();
    else next();
  };
  app.use(searchRoutes({ search, guard }));
};

describe("the routes of the search", function () {
  this.timeout(60_000);
  const server = vectorServer();

  for (const [major, create] of Object.entries(majors)) {
    it(`store, find and delete documents of the request's tenant on ${major}`, async () => {
      const url = await server.database();
      const toml = ragToml("", '"openapi", "database", "tenancy", "rag"', TENANCY);
      await using test = await startService({ ...ragOn(url, toml), app: create(), routes });
      const post = (path: string, body: object, headers: object = acme): request.Test =>
        request(test.url)
          .post(path)
          .set({ ...headers })
          .send(body);
      const document = { id: "a/1", text: "Taxi to the airport", metadata: { kind: "travel" } };
      const stored = await post("/rag/documents", document);
      expect([stored.status, stored.body]).to.deep.equal([
        200,
        { id: "a/1", chunks: 1, embedded: 1, reused: 0, removed: 0 },
      ]);
      const { body } = await post("/rag/search", { text: "taxi", limit: 2, where: { kind: "travel" } });
      const { hits } = body as { readonly hits: readonly object[] };
      expect(hits).to.have.lengthOf(1);
      expect(hits[0]).to.deep.include({
        document: "a/1",
        chunk: 0,
        text: "Taxi to the airport",
        metadata: { kind: "travel" },
      });
      const globex = { "X-Tenant-ID": "globex" };
      expect((await post("/rag/search", { text: "taxi" }, globex)).body).to.deep.equal({ hits: [] });

      const unscoped = await post("/rag/search", { text: "taxi" }, {});
      expect([unscoped.status, unscoped.body.detail]).to.deep.equal([
        403,
        "this request is not scoped to a tenant",
      ]);
      expect((await post("/rag/search", { text: "x" }, { ...acme, "X-Key": "no" })).status).to.equal(403);
      expect((await request(test.url).delete("/rag/documents/a%2F1").set(globex)).status).to.equal(204);
      expect((await post("/rag/search", { text: "taxi" })).body.hits).to.have.lengthOf(1);
      expect((await request(test.url).delete("/rag/documents/a%2F1").set(acme)).status).to.equal(204);
      expect((await post("/rag/search", { text: "taxi" })).body.hits).to.have.lengthOf(0);
      expect((await request(test.url).put("/rag/documents").set(acme)).status).to.equal(405);

      const { paths } = (await request(test.url).get("/openapi.json")).body as {
        readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
      };
      expect(Object.keys(paths).filter((path) => path.startsWith("/rag"))).to.deep.equal([
        "/rag/documents",
        "/rag/documents/{id}",
        "/rag/search",
      ]);
      expect(JSON.stringify(paths["/rag/documents"]?.["post"])).to.contain('"required":["id","text"]');
    });
  }

  it("return 422 for a body that does not match its description or names a tenant", async () => {
    const url = await server.database();
    await using test = await startService({ ...ragOn(url), routes });
    const errorsOf = async (path: string, body: unknown): Promise<readonly string[]> => {
      const answer = await request(test.url).post(path).type("json").send(JSON.stringify(body));
      expect(answer.status).to.equal(422);
      const { errors } = answer.body as { errors: readonly { loc: readonly string[]; msg: string }[] };
      return errors.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`);
    };
    expect(await errorsOf("/rag/documents", { id: "a", text: " ", tenant: "x", metadata: 1 })).to.deep.equal([
      "body.text: must be a string of 1 to 1000000 characters that is not only white space",
      "body.metadata: must be an object of at most 4096 bytes as JSON",
      "body.tenant: is unknown",
    ]);
    expect(await errorsOf("/rag/search", { limit: 101 })).to.deep.equal([
      "body.text: must be a string of 1 to 16384 characters that is not only white space",
      "body.limit: must be a whole number from 1 to 100",
    ]);
    expect(await errorsOf("/rag/search", [])).to.deep.equal(["body: is invalid"]);
    expect(await errorsOf("/rag/search", { text: "a", where: { price: { gtt: 1 } } })).to.deep.equal([
      "body.where: filter.price.gtt is not an operator; did you mean gt?",
    ]);
    expect(await errorsOf("/rag/documents", { id: "a", text: "nul \0" })).to.deep.equal([
      "body: the content of chunk 0 must not contain NUL",
    ]);
  });

  it("queue a text with many chunks, which a job then ingests for the tenant of the request", async () => {
    const url = await server.database();
    const keys = "chunk_size = 30\nchunk_overlap = 5\ninline_chunks = 2";
    const toml = ragToml(keys, '"database", "queue", "tenancy", "rag"', TENANCY);
    await using test = await startService({ ...ragOn(url, toml), routes });
    const text = "one two three four five six seven eight nine ten eleven twelve";
    const { status, body } = await request(test.url).post("/rag/documents").set(acme).send({ id: "a", text });
    expect([status, Object.keys(body as object)]).to.deep.equal([202, ["id", "job"]]);
    const { search } = test.service;
    await until("the job", async () => ((await search?.stats({ tenant: "acme" }))?.chunks ?? 0) > 2);
    expect(await search?.stats({ tenant: "globex" })).to.include({ chunks: 0 });
    const short = await request(test.url).post("/rag/documents").set(acme).send({ id: "b", text: "one two" });
    expect(short.status).to.equal(200);
    const controls = await request(test.url)
      .post("/rag/documents")
      .set(acme)
      .send({ id: "c", text: "\u0001".repeat(200_000) });
    expect(controls.status).to.equal(413);
  });

  it("return 422 for a document that cannot be stored, above and below inline_chunks, and for too long an id", async () => {
    const url = await server.database();
    const keys = 'tenant = "-"\nchunk_size = 20\nchunk_overlap = 5\ninline_chunks = 2';
    await using test = await startService({
      ...ragOn(url, ragToml(keys, '"openapi", "database", "queue", "rag"')),
      routes,
    });
    const words = "one two three four five six seven eight nine ten eleven twelve ";
    for (const text of ["one", words]) {
      for (const document of [
        { text: `${text}\0` },
        { text: `${text}\ud800` },
        { text, metadata: { a: "x".repeat(4096) } },
        { text, metadata: { a: "\0" } },
      ]) {
        const { status } = await request(test.url)
          .post("/rag/documents")
          .send({ id: "a", ...document });
        expect(status).to.equal(422);
      }
    }
    expect(await test.service.jobs?.stats()).to.include({ pending: 0, running: 0, dead: 0 });
    const long = await request(test.url).delete(`/rag/documents/${"x".repeat(1025)}`);
    expect([long.status, long.body.errors[0].loc]).to.deep.equal([422, ["path", "id"]]);
    const bytes = await request(test.url)
      .post("/rag/search")
      .send({ text: "é".repeat(10_000) });
    expect([bytes.status, bytes.body.errors[0].loc]).to.deep.equal([422, ["body", "text"]]);
    const { paths } = (await request(test.url).get("/openapi.json")).body as {
      readonly paths: Readonly<
        Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, unknown>> }>>>
      >;
    };
    expect(paths["/rag/documents/{id}"]?.["delete"]?.responses).to.have.property("422");
  });

  it("TRACE-12 create spans with the contract's attributes and the statements as children, but without any text", async () => {
    const url = await server.database();
    const canary = (): string => `canary${randomBytes(8).toString("hex")}`;
    const canaries = { text: canary(), query: canary(), metadata: canary(), embedder: canary() };
    const id = `${"d".repeat(255)}😀`;
    for (const recorded of [true, false]) {
      await using receiver = await openOtlpReceiver();
      const toml = ragToml(
        `tenant = "-"\nrecord_document_ids = ${recorded}`,
        '"database", "telemetry", "rag"',
        "[plugin.telemetry]\nrecord_sql_statement = true\n",
      );
      const options = ragOn(url, toml);
      {
        await using test = await startService({
          ...options,
          env: { ...options.env, SVC_TELEMETRY_ENDPOINT: receiver.url },
          routes,
        });
        const post = (path: string, body: object): request.Test => request(test.url).post(path).send(body);
        const { text, query, metadata } = canaries;
        await post("/rag/documents", { id, text, metadata: { note: metadata } });
        await post("/rag/search", { text: query, limit: 3, where: { note: metadata } });
      }
      const { spans } = receiver;
      const named = (name: string) => spans.find((each) => each.name === name) ?? expect.fail(name);
      const ingest = named("rag.ingest");
      expect([ingest.kind, ingest.attributes]).to.deep.equal([
        "internal",
        {
          ...(recorded && { "rag.document_id": "d".repeat(255) }),
          "rag.store": "svc_chunks",
          "rag.chunks": 1,
          "rag.embedded": recorded ? 1 : 0,
          "rag.reused": recorded ? 0 : 1,
        },
      ]);
      const search = named("rag.search");
      expect([search.kind, search.attributes]).to.deep.equal([
        "internal",
        {
          "rag.store": "svc_chunks",
          "rag.limit": 3,
          "rag.hybrid": true,
          "rag.filtered": true,
          "rag.hits": 1,
        },
      ]);
      expect(search.parentSpanId).to.equal(named("POST /rag/search").spanId);
      for (const { spanId } of [ingest, search]) {
        const children = spans.filter(({ parentSpanId }) => parentSpanId === spanId);
        expect(children).not.to.deep.equal([]);
        expect(children.every(({ attributes }) => attributes["db.system"] === "postgresql")).to.equal(true);
      }
      const exported = Buffer.concat(receiver.bodies);
      for (const [what, value] of Object.entries(canaries)) {
        expect(exported.includes(value), what).to.equal(false);
      }
    }
  });
});
