import { documentOf, route, type Schema, validate } from "@svc/openapi";
import { type } from "arktype";
import { expect } from "chai";
import * as v from "valibot";
import { z } from "zod";
import { ask, majors, serve } from "./support/served.ts";

const ItemId = z.int().meta({ id: "ItemId" });

type Query = Readonly<Record<string, string | readonly string[]>>;

const read = async (schema: Schema, query: Query): Promise<unknown> => {
  const result = await validate({ query: schema }, { query });
  return result.issues ?? result.value.query;
};

describe("the conversion of strings", () => {
  for (const [major, express] of majors) {
    it(`reaches the path and the query of a request with named schemas on ${major}`, async () => {
      const request = {
        params: z.object({ id: ItemId }),
        query: z.object({ page: ItemId.optional() }),
      };
      await using server = await serve(express, (app) =>
        app.use(
          route({ method: "GET", path: "/pens/:id", request }, ({ params, query }, _req, res) =>
            res.json({ ...params, ...query }),
          ),
        ),
      );
      const { status, body } = await ask(`${server.url}/pens/7?page=2`);
      expect([status, body]).to.deep.equal([200, { id: 7, page: 2 }]);
      expect((await ask(`${server.url}/pens/x`)).status).to.equal(422);
    });
  }

  it("follows references", async () => {
    const odd = z.int().meta({ id: "My item %x/y~z" });
    const named = z.object({ one: ItemId.describe("An id."), list: z.array(ItemId), odd });
    expect(await read(named, { one: "7", list: "8", odd: "9" })).to.deep.equal({ one: 7, list: [8], odd: 9 });
    const schema = {
      type: "object",
      properties: { a: { $ref: "#/$defs/N" }, b: { $ref: "#/properties/a" }, c: { $ref: "#/$defs/none" } },
      $defs: { N: { type: "number" } },
    };
    const validator = v.object({ a: v.number(), b: v.number(), c: v.string() });
    expect(await read({ schema, validator }, { a: "1", b: "2", c: "3" })).to.deep.equal({
      a: 1,
      b: 2,
      c: "3",
    });
  });

  it("applies all members of allOf", async () => {
    const whole = z.object({ n: z.int().and(z.number().max(50)) });
    expect(await read(whole, { n: "7" })).to.deep.equal({ n: 7 });
    expect(await read(whole, { n: "1e1" })).to.have.length(2);
    const narrowed = z.object({ n: z.union([z.string(), z.number()]).and(z.number()) });
    expect(await read(narrowed, { n: "7" })).to.deep.equal({ n: 7 });
    const both = z
      .object({ a: z.int() })
      .meta({ id: "WithA" })
      .and(z.object({ a: z.number().max(5), b: z.boolean() }));
    expect(await read(both, { a: "1", b: "true" })).to.deep.equal({ a: 1, b: true });
  });

  it("converts the elements of lists that may be null, and of tuples", async () => {
    const lists = z.object({ n: z.array(z.int()).nullable(), t: z.tuple([z.int(), z.boolean()]) });
    const rest = z.tuple([z.string()]).rest(z.int());
    const query = { n: ["1", "2"], t: ["3", "true"] };
    expect(await read(lists, query)).to.deep.equal({ n: [1, 2], t: [3, true] });
    expect(await read(z.object({ rest }), { rest: ["1", "2", "3"] })).to.deep.equal({ rest: ["1", 2, 3] });
    const ark = type({ n: "number[] | null", t: ["number", "boolean"] });
    expect(await read(ark, query)).to.deep.equal({ n: [1, 2], t: [3, true] });
  });

  it("makes a list of a single value only if no other branch accepts the value", async () => {
    const either = z.object({
      n: z.union([z.int(), z.array(z.int())]),
      text: z.union([z.string(), z.array(z.string())]),
      all: z.union([z.literal("all"), z.array(z.int())]),
    });
    expect(await read(either, { n: "1", text: "a", all: "all" })).to.deep.equal({
      n: 1,
      text: "a",
      all: "all",
    });
    expect(await read(either, { n: ["1", "2"], text: ["a"], all: "3" })).to.deep.equal({
      n: [1, 2],
      text: ["a"],
      all: [3],
    });
    expect(await read(type({ n: "number | number[]" }), { n: "1" })).to.deep.equal({ n: 1 });
  });

  it("converts members that are not listed by name", async () => {
    expect(await read(z.record(z.string(), z.int()), { a: "1" })).to.deep.equal({ a: 1 });
    const loose = z.object({ a: z.string() }).catchall(ItemId);
    expect(await read(loose, { a: "1", b: "2" })).to.deep.equal({ a: "1", b: 2 });
    expect(await read(type({ "[string]": "number" }), { a: "1" })).to.deep.equal({ a: 1 });
    expect(await read(z.looseObject({ a: z.int() }), { a: "1", b: "2" })).to.deep.equal({ a: 1, b: "2" });
  });

  it("converts the members of every branch of a union, and keeps a string that one of them allows", async () => {
    const union = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), n: z.int(), value: z.int() }),
      z.object({ kind: z.literal("b"), value: z.string() }),
    ]);
    expect(await read(union, { kind: "b", value: "1" })).to.deep.equal({ kind: "b", value: "1" });
    expect(await read(union, { kind: "a", n: "1", value: "1" })).to.have.deep.nested.property("[0].loc", [
      "query",
      "value",
    ]);
  });

  it("ends for schemas that refer to themselves", async () => {
    const Tree: z.ZodType = z.object({
      n: z.int(),
      get children() {
        return z.array(Tree).optional();
      },
    });
    expect(await read(Tree, { n: "1" })).to.deep.equal({ n: 1 });
    const List: z.ZodType = z.array(z.lazy(() => List));
    expect(await read(z.object({ list: List }), { list: ["1"] })).to.have.length(1);
    const schema = {
      $ref: "#/$defs/A",
      $defs: { A: { anyOf: [{ $ref: "#/$defs/A" }, { properties: { n: { type: "number" } } }] } },
    };
    expect(await read({ schema, validator: v.object({ n: v.number() }) }, { n: "1" })).to.deep.equal({
      n: 1,
    });
  });
});

describe("the parameters of a query that is a union", () => {
  it("are those of all branches, and required if every branch requires them", () => {
    const query = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), n: z.int().max(9).min(0) }),
      z.object({ kind: z.literal("b"), page: ItemId }),
    ]);
    const params = z.record(z.string(), z.boolean());
    const routes = [{ method: "GET", template: "/a/{id}", description: { request: { params, query } } }];
    const document = documentOf(routes, { info: { title: "a", version: "1" } });
    expect(document.paths["/a/{id}"]?.["get"]?.["parameters"]).to.deep.equal([
      { name: "id", in: "path", required: true, schema: { type: "boolean" } },
      {
        name: "kind",
        in: "query",
        required: true,
        schema: {
          anyOf: [
            { type: "string", const: "a" },
            { type: "string", const: "b" },
          ],
        },
      },
      { name: "n", in: "query", schema: { type: "integer", minimum: 0, maximum: 9 } },
      { name: "page", in: "query", schema: { $ref: "#/components/schemas/ItemId" } },
      { $ref: "#/components/parameters/RequestId" },
    ]);
  });
});
