import { validate } from "@svc/openapi";
import { type } from "arktype";
import { expect } from "chai";
import * as v from "valibot";
import { z } from "zod";

describe("validate()", () => {
  it("converts strings to the numbers, booleans and lists that the schema expects", async () => {
    const query = z.object({
      whole: z.int(),
      decimal: z.number(),
      on: z.boolean(),
      one: z.array(z.number()),
      text: z.string(),
      kind: z.enum(["a", "1"]),
      either: z.union([z.number(), z.literal("all")]),
      none: z.string().optional(),
    });
    const values = {
      whole: "12",
      decimal: "-1.5e2",
      on: "false",
      one: "3",
      text: "4",
      kind: "1",
      either: "5",
    };
    const result = await validate({ query }, { query: values });
    expect(result).to.deep.equal({
      value: {
        params: undefined,
        query: { whole: 12, decimal: -150, on: false, one: [3], text: "4", kind: "1", either: 5 },
        headers: undefined,
        body: undefined,
      },
    });
  });

  it("passes strings that are not JSON numbers to the schema unchanged", async () => {
    const query = z.object({ n: z.number() });
    for (const n of ["", " 1", "0x10", "1e999", "Infinity", "01", "1,5", "١"]) {
      const { issues } = await validate({ query }, { query: { n } });
      expect(issues, n).to.deep.include({
        type: "invalid_type",
        loc: ["query", "n"],
        msg: issues?.[0]?.msg,
        input: n,
      });
    }
  });

  it("accepts only digits for a whole number", async () => {
    const query = z.object({ n: z.int() });
    expect(await validate({ query }, { query: { n: "-7" } })).to.have.nested.property("value.query.n", -7);
    for (const n of ["1e1", "1.0", "01", "+1", "99999999999999999"])
      expect((await validate({ query }, { query: { n } })).issues, n).to.have.length(1);
  });

  it("rejects a repeated name if the schema has a single value", async () => {
    const { issues } = await validate({ query: z.object({ n: z.string() }) }, { query: { n: ["a", "b"] } });
    expect(issues?.[0]).to.deep.include({ type: "invalid_type", loc: ["query", "n"] });
  });

  it("treats a member named __proto__ like any other unknown member", async () => {
    const body: unknown = JSON.parse('{"__proto__": {"admin": true}, "n": 1}');
    const strict = await validate({ body: z.strictObject({ n: z.number() }) }, { body });
    expect(strict.issues?.[0]?.loc).to.deep.equal(["body", "__proto__"]);
    const loose = await validate({ body: z.object({ n: z.number() }) }, { body });
    expect(loose).to.have.deep.nested.property("value.body", { n: 1 });
    expect(({} as { admin?: boolean }).admin).to.equal(undefined);
  });

  it("ERR-16 reports at most 50 faults", async () => {
    const body = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`m${at}`, at]));
    const unknown = await validate({ body: z.strictObject({}) }, { body });
    expect(unknown.issues).to.have.length(50);
    const wrong = await validate({ body: z.record(z.string(), z.string()) }, { body });
    expect(wrong.issues).to.have.length(50);
  });

  it("ERR-17 repeats neither values with secret names nor objects", async () => {
    const schemas = {
      headers: z.object({ authorization: z.number(), "x-api-key": z.number() }),
      body: z.object({ password: z.string().min(20), name: z.number(), nested: z.string() }),
    };
    const { issues = [] } = await validate(schemas, {
      headers: { authorization: "Bearer abc", "x-api-key": "k-1" },
      body: { password: "hunter2", name: "Ann", nested: { token: "t-1" } },
    });
    expect(issues.map(({ loc, input }) => [loc.join("."), input])).to.deep.equal([
      ["header.authorization", undefined],
      ["header.x-api-key", undefined],
      ["body.password", undefined],
      ["body.name", "Ann"],
      ["body.nested", undefined],
    ]);
    expect(issues[0]?.msg).to.equal("is invalid");
  });

  it("ERR-16 ERR-17 reads the paths of ArkType issues, truncates messages, and hides objects in messages that repeat values", async () => {
    const root = await validate({ body: type("string") }, { body: 5 });
    expect(root.issues?.[0]?.loc).to.deep.equal(["body"]);
    const narrowed = type({ user: "string" }).narrow((_value, context) => context.mustBe("someone else"));
    const hidden = await validate({ body: narrowed }, { body: { user: "hunter2" } });
    expect(JSON.stringify(hidden.issues)).to.not.contain("hunter2");
    const mail = v.pipe(v.string(), v.email());
    const long = await validate({ body: v.object({ mail }) }, { body: { mail: "x".repeat(10_000) } });
    expect(long.issues?.[0]?.msg).to.have.length(512);
  });

  it("rejects without an unhandled rejection when one schema rejects and another throws", async () => {
    const schema = (validate: () => never | Promise<never>) => ({
      "~standard": { version: 1 as const, vendor: "test", validate },
    });
    const query = schema(() => Promise.reject(new Error("late")));
    const body = schema(() => {
      throw new Error("at once");
    });
    expect(() => validate({ query, body }, {})).to.throw("at once");
    await new Promise((resolve) => setImmediate(resolve));
  });

  it("reports a missing body, and the full path of a nested fault", async () => {
    const schema = z.object({ items: z.array(z.object({ price: z.number() })) });
    expect((await validate({ body: schema }, {})).issues?.[0]).to.deep.include({
      type: "missing",
      loc: ["body"],
    });
    const { issues } = await validate({ body: schema }, { body: { items: [{ price: 1 }, { price: null }] } });
    expect(issues?.[0]).to.deep.include({ loc: ["body", "items", 1, "price"], input: null });
  });
});
