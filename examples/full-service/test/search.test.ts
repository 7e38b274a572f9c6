import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, testDatabase } from "@svc/dev-services";
import { ProblemError } from "@svc/problem";
import { createLazyStore, createSearchStore, hasVector, type LazyStore } from "@svc/search-store";
import { expect } from "chai";
import request from "supertest";
import { makeCalls } from "../../support/readme-calls.ts";
import { serviceUrl } from "../src/database-role.ts";
import type { Found } from "../src/search/documents.ts";
import { demoEmbed, demoEmbedding, dimensions } from "../src/search/demo-embedder.ts";
import { piecesOf } from "../src/search/pieces.ts";
import { authEnv, caller } from "./support/caller.ts";
import { demoProcess, temporaryCheckout } from "./support/demo-process.ts";
import { embeddedFolder, type EmbeddedFolder } from "./support/embedded-folder.ts";
import { record } from "./support/expenses.ts";
import { type RunningService, runService } from "./support/running-service.ts";
import { browse } from "./support/sign-in.ts";
import { withoutVector } from "./support/without-vector.ts";

/** Returns the check of the search in `/ready`. */
async function searchCheck({ url }: RunningService): Promise<object & { readonly detail: string }> {
  let { status, body } = await request(url).get("/ready");
  // On a busy machine the first check, which creates the tables, exceeds its timeout. Opening an embedded database does
  // too, but then only the search's check times out, and the service is ready.
  for (let tries = 0; (status !== 200 || isLate(body)) && tries < 100; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    ({ status, body } = await request(url).get("/ready"));
  }
  expect(status, JSON.stringify(body)).to.equal(200);
  const { checks } = body as Readiness;
  expect(checks["search"]).to.include({ healthy: true, critical: false });
  return checks["search"] ?? { detail: "" };
}

interface Readiness {
  readonly checks: Readonly<Record<string, { readonly status: string; readonly detail: string }>>;
}

function isLate(body: unknown): boolean {
  return (body as Readiness).checks["search"]?.status === "timeout";
}

async function find({ url }: RunningService, tenant: string, query: object): Promise<readonly Found[]> {
  const { status, body } = await caller(url, tenant).get("/search").query(query);
  expect(status, JSON.stringify(body)).to.equal(200);
  return (body as { hits: readonly Found[] }).hits;
}

/** Sends a document and returns the response. */
async function send({ url }: RunningService, tenant: string, document: object): Promise<object> {
  const { status, body } = await caller(url, tenant).post("/documents").send(document);
  expect(status, JSON.stringify(body)).to.equal(200);
  return body as object;
}

// Only this file opens an embedded database, which takes seconds and half a gigabyte.
describe("the search", function () {
  this.timeout(120_000);
  const database = testDatabase({ name: "search" });
  let running: RunningService;
  let folder: EmbeddedFolder;
  let databaseUrl = "";

  before("the service", async () => {
    databaseUrl = await serviceUrl(database.url);
    folder = await embeddedFolder();
    const embeddedSearch = { dataDir: folder.path };
    running = await runService(databaseUrl, { seed: true, demoUsers: true, embeddedSearch });
  });
  after("stop it", async () => {
    await running[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  /** Retries a search while the store is still being opened, which can take longer than a request waits. */
  async function untilOpen(tenant: string, query: object): Promise<readonly Found[]> {
    for (let tries = 0; tries < 6; tries++) {
      const { status } = await caller(running.url, tenant).get("/search").query(query);
      if (status !== 503) break;
    }
    return find(running, tenant, query);
  }

  /** Returns the store as the plugin opens it, on the service's database as if its server had no pgvector. */
  function onPlainServer(embeddedFolder?: string): LazyStore {
    const { db, log } = running.service;
    if (db === undefined) throw new Error("the service has no database");
    return createLazyStore({
      db: withoutVector(db),
      create: (on) => createSearchStore({ db: on, dimensions, embed: demoEmbed }),
      embeddedFolder,
      logger: log,
    });
  }

  it("is opened on first use, and the service is ready before that", async () => {
    expect((await searchCheck(running)).detail).to.match(
      /^(embedded, opened at the first use|pgvector [\d.]+ on the server)$/,
    );
    const [ofCafe, ofBikes] = await Promise.all([
      untilOpen("harbour-cafe", { q: "coffee" }),
      untilOpen("nordic-bikes", { q: "coffee" }),
      searchCheck(running),
    ]);
    expect(ofCafe[0]?.text).to.equal(ofBikes[0]?.text).and.to.contain("offee");
    expect(ofCafe[0]?.document).not.to.equal(ofBikes[0]?.document);
    // A result of `/ready` is reused for a second.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect((await searchCheck(running)).detail).to.match(/^pgvector [\d.]+(, embedded| on the server)$/);
  });

  it("responds to the README's calls as documented", async () => {
    expect(await makeCalls(new URL("../README.md", import.meta.url), running.url)).to.equal(27);
  });

  it("embeds only the changed parts of a document that is sent again", async () => {
    const paragraphs = ["Rent of the hall.", "Chairs and tables.", "Deposit, to be paid back."];
    const document = (...texts: string[]): object => ({ id: "hall:2026", text: texts.join("\n\n") });
    const done = async (...texts: string[]): Promise<object> => send(running, "hall", document(...texts));
    const id = "hall:2026";
    expect(await done(...paragraphs)).to.deep.equal({ id, pieces: 3, embedded: 3, reused: 0, removed: 0 });
    expect(await done(...paragraphs)).to.deep.equal({ id, pieces: 3, embedded: 0, reused: 3, removed: 0 });
    expect(await done("Rent of the hall.", "Sixty chairs.")).to.deep.equal({
      id,
      pieces: 2,
      embedded: 1,
      reused: 1,
      removed: 1,
    });
    expect(await find(running, "hall", { q: "deposit" })).to.deep.equal([]);
    expect((await find(running, "hall", { q: "chairs" })).map(({ piece }) => piece)).to.deep.equal([1]);
  });

  it("adds an expense's category and time to the document with the expense's id", async () => {
    const tenant = "expenses";
    const id = await record(running.url, { tenant, category: "travel" });
    await send(running, tenant, { id, text: "Night train to Vienna", meta: { category: "meals", seat: 7 } });
    await send(running, tenant, {
      id: "free",
      text: "Train set for the window",
      meta: { category: "other" },
    });
    // For another tenant this id is not the id of an expense.
    await send(running, "others", { id, text: "Night train to Prague", meta: { expense: true } });
    const hits = await find(running, tenant, { q: "train" });
    expect(hits.map(({ document }) => document)).to.have.members([id, "free"]);
    const [hit] = await find(running, tenant, { q: "night trains", category: "travel" });
    expect(hit).to.deep.include({
      document: id,
      piece: 0,
      text: "Night train to Vienna",
      meta: { category: "travel", paid_at: "2026-03-01T12:00:00.000Z", expense: true, seat: 7 },
      rank: { meaning: 1, words: 1 },
    });
    expect(hit?.score).to.be.within(0.3, 1);
    expect(await find(running, tenant, { q: "train", category: "meals" })).to.deep.equal([]);
    expect(await find(running, tenant, { q: "train", limit: 1 })).to.have.length(1);
    expect((await find(running, "others", { q: "train" }))[0]?.meta).to.deep.equal({});
  });

  it("finds misspelled words, and nothing for unrelated words", async () => {
    const texts = async (q: string): Promise<readonly string[]> =>
      (await find(running, "stone-and-leaf", { q })).map(({ text }) => text.slice(0, 20));
    expect(await texts("cofee")).to.deep.equal(["Coffee and cake for "]);
    expect((await texts("cleening windows"))[0]).to.equal("Window cleaning. Cle");
    for (const q of ["xyzzy", "☕", "the", "' or 1=1 --", "& | ! <-> :*", "%", "(((", "\\"]) {
      expect(await texts(q), q).to.deep.equal([]);
    }
    expect(await texts("x".repeat(500))).to.deep.equal([]);
  });

  it("names the faults of a document or a query in a 422 problem before it opens the store", async () => {
    const right = { id: "a", text: "b" };
    const bodies: readonly (readonly [string, unknown])[] = [
      ["id", { text: "b" }],
      ...["", " a", "a b", "-a", "ä", "a".repeat(101), 7].map((id) => ["id", { ...right, id }] as const),
      ["text", { id: "a" }],
      ...["", " \n ", "x".repeat(20_001), "nul \0", "half \ud800", ["b"], "a\n\n".repeat(201)].map(
        (text) => ["text", { ...right, text }] as const,
      ),
      ...[null, [], "x", { A: 1 }, { a: {} }, { a: null }, { a: "\0" }, { category: "toys" }, many(17)].map(
        (meta) => ["meta", { ...right, meta }] as const,
      ),
      ["tenant", { ...right, tenant: "acme" }],
    ];
    for (const [name, body] of bodies) {
      const answer = await caller(running.url)
        .post("/documents")
        .send(body as object);
      expect({ body, status: answer.status }).to.deep.equal({ body, status: 422 });
      // The problem also names a member of `meta`.
      expect(locsOf(answer).map((loc) => loc.slice(0, 2))).to.deep.equal([["body", name]]);
    }
    const queries = [
      ["q", ""],
      ["q", "q="],
      ["q", "q=%20"],
      ["q", `q=${"x".repeat(501)}`],
      ["q", "q=%00"],
    ];
    const more = [
      ["limit", "q=a&limit=0"],
      ["limit", "q=a&limit=101"],
      ["category", "q=a&category=toys"],
    ];
    for (const [name, query] of [...queries, ...more, ["filter", "q=a&filter=1"], ["q", "q=a&q=b"]]) {
      const answer = await caller(running.url).get(`/search?${query}`);
      expect({ query, status: answer.status }).to.deep.equal({ query, status: 422 });
      expect(locsOf(answer)).to.deep.equal([["query", name]]);
    }
    const asked = caller(running.url).post("/documents");
    expect((await asked.type("json").send('{"id":')).status).to.equal(400);
    expect((await caller(running.url).post("/documents").type("text/plain").send("a")).status).to.equal(415);
    expect((await request(running.url).get("/search?q=a")).status).to.equal(401);
    const reader = caller(running.url, "acme", { scope: "expenses:read" });
    expect((await reader.post("/documents").send(right)).status).to.equal(403);
    const writer = caller(running.url, "acme", { scope: "expenses:write" });
    expect((await writer.get("/search?q=a")).status).to.equal(403);
  });

  it("has a page that escapes texts and needs no script", async () => {
    const tenant = "nordic-bikes";
    const text = `<script>alert("bell")</script> & a bell's spring`;
    await send(running, tenant, { id: "bell", text, meta: { category: "office" } });
    const { cookie } = await browse(running.url, `clerk@${tenant}.example`);
    const page = (query: string): request.Test =>
      request(running.url).get(`/receipts${query}`).set({ cookie });
    const found = await page("?q=bell+%3Cb%3E&category=office");
    expect(found.status).to.equal(200);
    expect(found.text).to.contain("&lt;script&gt;alert(&quot;<mark>bell</mark>&quot;)&lt;/script&gt; &amp;");
    expect(found.text).to.contain("“bell &lt;b&gt;”").and.to.contain("<option selected>office</option>");
    expect(found.text).not.to.match(/<script|<b>/);
    const [, link = ""] = /href="(\/expenses\/[0-9a-f]{32})"/.exec((await page("?q=printer")).text) ?? [];
    expect((await request(running.url).get(link).set({ cookie })).body).to.include({ tenant });
    expect((await page("?q=xyzzy&category=")).text).to.contain("No receipt matches “xyzzy”.");
    for (const [query, status, error] of [
      ["", 200, undefined],
      ["?q=", 422, "Enter the words to search for."],
      [`?q=${"x".repeat(501)}`, 422, "Enter at most 500 characters, without NUL."],
      ["?q=a&category=toys", 422, "Choose one of the categories, or all."],
    ] as const) {
      const answer = await page(query);
      expect({ query, status: answer.status }).to.deep.equal({ query, status });
      expect(/role="alert">([^<]*)</.exec(answer.text)?.[1]).to.equal(error);
    }
  });

  it("is disabled without pgvector and without an embedded database, and its check names the missing part", async () => {
    const search = onPlainServer();
    const { healthy, detail } = await search.check(AbortSignal.timeout(5000));
    expect(healthy).to.equal(false);
    expect(detail).to.contain("the server has no pgvector");
    const error = await search.store().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(ProblemError).and.to.deep.include({ status: 503 });
    expect((error as ProblemError).headers).to.include({ "Retry-After": "60" });
    await search.close();
  });

  it("returns 503 while another process uses its folder, and reports this in `/ready` without the path", async () => {
    const dataDir = `${folder.path}-held`;
    holdFolder(dataDir);
    const search = onPlainServer(dataDir);
    for (const attempt of ["first", "second, which opens nothing"]) {
      const error: unknown = await search.store().catch((reason: unknown) => reason);
      expect(error, attempt).to.be.instanceOf(ProblemError).and.to.deep.include({ status: 503 });
      expect((error as ProblemError).headers).to.include({ "Retry-After": "5" });
    }
    expect(
      running.log.filter((line) => line.includes("the embedded database of the search could not be opened")),
    ).to.have.length(1);
    expect(await search.check(AbortSignal.timeout(5000))).to.deep.equal({
      healthy: false,
      detail: "the embedded database could not be opened: another process uses its folder",
    });
    await search.close();
  });

  it("creates its files in a child process, which ends when the service stops", async () => {
    const dataDir = `${folder.path}-second`;
    const search = onPlainServer(dataDir);
    const asked = search.store().catch((reason: unknown) => reason);
    const maker = await holderOf(`${dataDir}.lock`);
    expect(maker).not.to.equal(process.pid);
    expect((await search.check(AbortSignal.timeout(5000))).detail).to.equal("embedded, being opened");
    await search.close();
    expect(await asked)
      .to.be.instanceOf(ProblemError)
      .and.to.deep.include({ status: 503, detail: "the service is shutting down" });
    await untilGone(maker);
  });

  it("uses a temporary folder in a demo with DATABASE_URL, and removes it when the service stops", async function () {
    const { db } = running.service;
    if (db === undefined || (await hasVector(db))) return this.skip();
    using checkout = temporaryCheckout();
    const passing = (): readonly string[] =>
      readdirSync(checkout.path).filter((name) => name.startsWith("svc-search-"));
    const env = { SVC_PORT: String(await freePort()), DATABASE_URL: databaseUrl, TMPDIR: checkout.path };
    await using demo = demoProcess(checkout, { ...env, ...authEnv });
    const client = caller(await demo.opened, "acme");
    // Stop only after the database is open: on a busy machine opening it may take longer than a stop.
    for (let tries = 0; (await client.get("/search?q=a")).status !== 200 && tries < 6; tries++)
      await sleep(100);
    expect(passing()).to.have.length(1);
    demo.interrupt();
    const { code, stdout, stderr } = await demo.ended;
    expect(code, `${stdout}${stderr}`).to.equal(0);
    expect(passing()).to.deep.equal([]);
  });

  it("is closed when the service stops, so that another process can use its folder", async () => {
    const isOpen = existsSync(`${folder.path}.lock`);
    expect(isOpen).to.equal((await searchCheck(running)).detail.endsWith("embedded"));
    await running[Symbol.asyncDispose]();
    expect(existsSync(`${folder.path}.lock`)).to.equal(false);
  });
});

describe("the helpers of the search", () => {
  it("piecesOf() splits a text into pieces of at most 600 characters without changing a letter", () => {
    const sentence = "Ten words are in each of these sentences, are they?";
    const long = Array<string>(30).fill(sentence).join(" ");
    const pieces = piecesOf(`one\r\n\r\n  two \n three\n\n\n\n${long}`);
    expect(pieces.slice(0, 2)).to.deep.equal(["one", "two \n three"]);
    expect(pieces.slice(2).join(" ")).to.equal(long);
    for (const piece of pieces) expect(piece.length).to.be.within(1, 600);
    // A very long word is split between characters, not within one.
    const word = `x${"😀".repeat(1000)}`;
    const cut = piecesOf(word);
    expect(cut.every((piece) => piece.length <= 600 && piece.isWellFormed())).to.equal(true);
    expect(cut.join("").replaceAll(" ", "")).to.equal(word);
    expect(piecesOf(" \n\n \t")).to.deep.equal([]);
  });

  it("demoEmbedding() returns the same vector of length 1 each time for a text, even for one without words", () => {
    for (const text of ["Coffee", "☕", "the", "a b", "x".repeat(20_000), "бумага", "コーヒー", "12 34"]) {
      const embedding = demoEmbedding(text);
      expect(embedding).to.have.length(dimensions).and.to.deep.equal(demoEmbedding(text));
      expect(Math.hypot(...embedding), text).to.be.closeTo(1, 1e-5);
    }
    expect(demoEmbedding("Café, CAFÉ")).to.deep.equal(demoEmbedding("cafe cafe"));
  });
});

/** Locks the folder of an embedded database as another living process would. */
function holdFolder(dataDir: string): void {
  mkdirSync(dataDir);
  // The store does not create existing files again.
  writeFileSync(join(dataDir, "PG_VERSION"), "18\n");
  const holder = { pid: process.ppid, host: hostname(), token: "held" };
  writeFileSync(`${dataDir}.lock`, JSON.stringify(holder));
}

/** Waits until a process holds the lock of a folder, and returns the id of the process. */
async function holderOf(lock: string): Promise<number> {
  for (let tries = 0; tries < 600; tries++) {
    const text = existsSync(lock) ? readFileSync(lock, "utf8") : "";
    if (text !== "") return (JSON.parse(text) as { pid: number }).pid;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no process holds ${lock}`);
}

async function untilGone(pid: number): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    try {
      process.kill(pid, 0);
    } catch (error) {
      expect(error).to.have.property("code", "ESRCH");
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`process ${pid} is still running`);
}

function many(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`key_${n}`, n]));
}

function locsOf({ body }: request.Response): readonly (readonly string[])[] {
  return (body as { errors: { loc: string[] }[] }).errors.map(({ loc }) => loc);
}
