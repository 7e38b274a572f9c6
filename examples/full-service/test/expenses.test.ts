import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import { caller } from "./support/caller.ts";
import { expense, list, record, walk } from "./support/expenses.ts";
import { serviceFor } from "./support/running-service.ts";

const problemType = "application/problem+json";

/** The parts of an OpenAPI document that contain descriptions. */
interface OfWords {
  readonly info: Readonly<Record<string, unknown>>;
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Words>>>>;
}

interface Words {
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
}

describe("expenses", () => {
  const running = serviceFor(testDatabase({ name: "expenses" }));

  it("records an expense and returns 201 with its Location", async () => {
    const note = "lunch for two ☕";
    const made = await caller(running.url).post("/expenses").send(expense({ note }));
    expect(made.status).to.equal(201);
    expect(made.body).to.deep.equal({
      id: (made.body as { id: string }).id,
      tenant: "acme",
      category: "meals",
      amount: "12.50",
      note,
      paid_at: "2026-03-01T12:00:00.000Z",
    });
    const place = made.headers["location"] ?? "";
    expect(place).to.match(/^\/expenses\/[0-9a-f]{32}$/);
    const found = await caller(running.url).get(place);
    expect(found.status).to.equal(200);
    expect(found.body).to.deep.equal(made.body);
  });

  it("DOC-1 documents every tag with a description, and every operation with a summary, description and tag", async () => {
    const { info, tags, paths } = (await caller(running.url).get("/openapi.json")).body as OfWords;
    expect(info).to.include.keys("description", "contact", "license");
    for (const { name, description } of tags) expect(description, name).to.be.a("string").that.is.not.empty;
    const operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ place: `${method} ${path}`, ...operation })),
    );
    expect(operations.length).to.be.greaterThan(30);
    for (const { place, summary, description, tags: own = [] } of operations) {
      expect(summary, place).to.be.a("string").that.is.not.empty;
      expect(description, place).to.be.a("string").that.is.not.empty;
      expect(own, place).to.not.be.empty;
    }
  });

  it("keeps amounts exact, as decimal text", async () => {
    const kept = {
      "0.1": "0.10",
      "0.30": "0.30",
      "4740993.01": "4740993.01",
      "9999999999.99": "9999999999.99",
    };
    for (const [amount, expected] of Object.entries({ ...kept, "7": "7.00", "0": "0.00" })) {
      const { body } = await caller(running.url).post("/expenses").send(expense({ amount }));
      expect((body as { amount: string }).amount).to.equal(expected);
    }
  });

  it("accepts a time in any zone and returns it in UTC", async () => {
    const paid_at = "2026-03-01T00:30:00.123+02:00";
    const { body } = await caller(running.url).post("/expenses").send(expense({ paid_at }));
    expect((body as { paid_at: string }).paid_at).to.equal("2026-02-28T22:30:00.123Z");
  });

  it("returns 404 for an unknown id and for a malformed id", async () => {
    for (const id of ["0".repeat(32), "1", "0'; drop table expenses; --", "%00", "A".repeat(32)]) {
      const { status, type, body } = await caller(running.url).get(`/expenses/${encodeURIComponent(id)}`);
      expect({ id, status, type }).to.deep.equal({ id, status: 404, type: problemType });
      expect((body as { request_id: string }).request_id).to.match(/^[0-9a-f]{32}$/);
    }
  });

  it("returns 405 with the allowed methods", async () => {
    const { status, headers } = await caller(running.url).delete("/expenses");
    expect(status).to.equal(405);
    expect(headers["allow"]).to.match(/GET/).and.to.match(/POST/);
  });

  describe("an invalid body", () => {
    const wrong: Readonly<Record<string, readonly unknown[]>> = {
      tenant: ["acme", "other"],
      category: [undefined, "toys", "__proto__", ["meals"]],
      amount: [undefined, 12.5, "12.345", "-1", "1e3", "12345678901", "NaN", "١٢", " 1"],
      note: [7, "x".repeat(501), "nul \0", "half a pair \ud800"],
      paid_at: [
        undefined,
        "",
        "2026-03-01",
        "2026-03-01T12:00Z",
        "2026-03-01T12:00:00",
        "2026-02-30T12:00:00Z",
        "2026-13-01T12:00:00Z",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59-23:00",
        "2026-03-01T25:00:00Z",
        "2026-03-01T12:00:00+99:00",
        1772366400000,
      ],
      owner: ["me"],
    };
    for (const [name, values] of Object.entries(wrong)) {
      it(`is rejected with a 422 problem that names ${name}`, async () => {
        for (const value of values) {
          const { status, type, body } = await caller(running.url)
            .post("/expenses")
            .send(expense({ [name]: value }));
          const errors = (body as { errors?: { loc: string[] }[] }).errors;
          expect({ value, status, type }).to.deep.equal({ value, status: 422, type: problemType });
          expect(errors?.map(({ loc }) => loc)).to.deep.equal([["body", name]]);
        }
      });
    }

    it("is rejected with one problem that names all faults", async () => {
      const { status, body } = await caller(running.url).post("/expenses").send({});
      expect(status).to.equal(422);
      const { errors } = body as { errors: { loc: string[]; type: string }[] };
      expect(errors.map(({ type, loc }) => `${type} ${loc.join(".")}`)).to.deep.equal([
        "missing body.category",
        "missing body.amount",
        "missing body.paid_at",
      ]);
    });

    it("is rejected with a 422 problem if it is missing or not an object", async () => {
      for (const text of ["[]", "[1]"]) {
        const { status } = await caller(running.url).post("/expenses").type("json").send(text);
        expect(status, text).to.equal(422);
      }
      expect((await caller(running.url).post("/expenses")).status).to.equal(422);
    });

    it("is rejected with a 400 problem that does not quote it if it is not JSON", async () => {
      const { status, type, text } = await caller(running.url)
        .post("/expenses")
        .type("json")
        .send('{"tenant": "hunter2-hunter2",');
      expect({ status, type }).to.deep.equal({ status: 400, type: problemType });
      expect(text).not.to.contain("hunter2");
    });

    it("is rejected with a 415 problem if it has another type", async () => {
      for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
        const answer = await caller(running.url).post("/expenses").type(type).send("tenant=acme");
        expect({ type, status: answer.status }).to.deep.equal({ type, status: 415 });
        expect(answer.type).to.equal(problemType);
      }
    });

    it("is rejected with a 413 problem if it is larger than 2 MiB", async () => {
      const { status, type } = await caller(running.url)
        .post("/expenses")
        .send(expense({ note: "x".repeat(2 * 1024 * 1024) }));
      expect({ status, type }).to.deep.equal({ status: 413, type: problemType });
    });
  });

  it("treats every string from a client as a value, never as SQL", async () => {
    const tenant = "injected";
    const notes = [
      "'; drop table expenses; --",
      "$1",
      "\\'; select 1",
      '"',
      "%s",
      "'||(select version())||'",
    ];
    for (const note of notes) {
      const found = await caller(running.url, tenant).get(
        `/expenses/${await record(running.url, { tenant, note })}`,
      );
      expect((found.body as { note: string }).note).to.equal(note);
    }
    for (const query of ["category=meals'--", "month=2026-03'", "limit=1;select 1"]) {
      expect((await caller(running.url).get(`/expenses?${encodeURI(query)}`)).status, query).to.equal(422);
    }
    const position = Buffer.from(`2026-03-01T12:00:00.000Z ' or 1=1 --`).toString("base64url");
    expect((await caller(running.url).get("/expenses").query({ cursor: position })).status).to.equal(422);
    expect(await walk(running.url, { tenant })).to.have.length(notes.length);
  });

  it("lists the expenses of a tenant, a category and a month, newest first", async () => {
    const tenant = "filtered";
    const march = await record(running.url, { tenant, category: "travel", paid_at: "2026-03-10T00:00:00Z" });
    const later = await record(running.url, { tenant, category: "office", paid_at: "2026-03-11T00:00:00Z" });
    const april = await record(running.url, { tenant, category: "travel", paid_at: "2026-04-10T00:00:00Z" });
    expect(await walk(running.url, { tenant })).to.deep.equal([april, later, march]);
    expect(await walk(running.url, { tenant, month: "2026-03" })).to.deep.equal([later, march]);
    expect(await walk(running.url, { tenant, category: "travel" })).to.deep.equal([april, march]);
    expect(await walk(running.url, { tenant, category: "travel", month: "2026-03" })).to.deep.equal([march]);
    expect(await list(running.url, { tenant: "nobody" })).to.deep.equal({ expenses: [], next: null });
  });

  it("interprets a month in UTC, from its first millisecond to its last", async () => {
    const tenant = "months";
    await record(running.url, { tenant, paid_at: "2026-02-28T23:59:59.999Z" });
    const first = await record(running.url, { tenant, paid_at: "2026-03-01T00:00:00.000Z" });
    const last = await record(running.url, { tenant, paid_at: "2026-04-01T01:59:59.999+02:00" });
    await record(running.url, { tenant, paid_at: "2026-04-01T00:00:00.000Z" });
    expect(await walk(running.url, { tenant, month: "2026-03" })).to.deep.equal([last, first]);
    const december = await record(running.url, { tenant, paid_at: "2025-12-31T23:59:59.999Z" });
    expect(await walk(running.url, { tenant, month: "2025-12" })).to.deep.equal([december]);
  });

  it("responds to an invalid filter with a 422 problem that names it", async () => {
    const wrong: Readonly<Record<string, readonly string[]>> = {
      tenant: ["acme", "other"],
      category: ["toys", "", "toString"],
      month: ["march", "2026-13", "2026-3", "2026-03-01", "0000-01"],
      cursor: [
        "",
        "x",
        "AAAA",
        Buffer.from(`2026-02-30T00:00:00.000Z ${"0".repeat(32)}`).toString("base64url"),
      ],
      limit: ["0", "101", "-1", "1.5", "ten", "1e1", ""],
      page: ["2"],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const { status, type, body } = await caller(running.url)
          .get("/expenses")
          .query({ [name]: value });
        expect({ name, value, status, type }).to.deep.equal({ name, value, status: 422, type: problemType });
        const [error] = (body as { errors: { loc: string[] }[] }).errors;
        expect(error?.loc).to.deep.equal(["query", name]);
      }
    }
    expect((await caller(running.url).get("/expenses?limit=1&limit=2")).status).to.equal(422);
  });
});
