import { documentOf, type Schema } from "@svc/openapi";
import { expect } from "chai";
import { z } from "zod";

const info = { title: "Shop", version: "1.2.3" };

/** Returns the document of routes that receive and send each schema. */
const describing = (...bodies: readonly Schema[]) =>
  documentOf(
    bodies.map((body, at) => ({
      method: "POST",
      template: `/${at}`,
      description: { request: { body }, responses: { 200: { body } } },
    })),
    { info },
  );

const schemasOf = (document: ReturnType<typeof describing>) =>
  document.components["schemas"] as Readonly<Record<string, { properties: Record<string, unknown> }>>;

const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

describe("the components of a document", () => {
  const Item = z.object({ qty: z.int().default(1) }).meta({ id: "Item" });
  const Order = z.object({ items: z.array(Item) }).meta({ id: "Order" });

  it("refer from a response only to schemas of responses", () => {
    const document = describing(Order, z.array(Order));
    const schemas = schemasOf(document);
    expect(Object.keys(schemas)).to.deep.equal([
      "Item",
      "ItemOutput",
      "Order",
      "OrderOutput",
      "Problem",
      "ValidationProblem",
    ]);
    expect(schemas["Order"]?.properties["items"]).to.deep.equal({ type: "array", items: refTo("Item") });
    expect(schemas["OrderOutput"]?.properties["items"]).to.deep.equal({
      type: "array",
      items: refTo("ItemOutput"),
    });
    expect(JSON.stringify(describing(Order, z.array(Order)))).to.equal(JSON.stringify(document));
  });

  it("refer to each other, also when only one of them differs in responses", () => {
    const A: z.ZodType = z
      .looseObject({
        get b() {
          return B.optional();
        },
      })
      .meta({ id: "A" });
    const B: z.ZodType = z
      .looseObject({
        get a() {
          return A.optional();
        },
        n: z.int().default(1),
      })
      .meta({ id: "B" });
    const schemas = schemasOf(describing(A, z.array(A), z.array(B)));
    expect(Object.keys(schemas)).to.deep.equal([
      "A",
      "AOutput",
      "B",
      "BOutput",
      "Problem",
      "ValidationProblem",
    ]);
    expect(schemas["A"]?.properties["b"]).to.deep.equal(refTo("B"));
    expect(schemas["B"]?.properties["a"]).to.deep.equal(refTo("A"));
    expect(schemas["AOutput"]?.properties["b"]).to.deep.equal(refTo("BOutput"));
    expect(schemas["BOutput"]?.properties["a"]).to.deep.equal(refTo("AOutput"));
  });

  it("include a schema without a name to which a named one refers", () => {
    const Root: z.ZodType = z.looseObject({
      get named() {
        return Named.optional();
      },
    });
    const Named: z.ZodType = z
      .looseObject({
        get root() {
          return Root.optional();
        },
      })
      .meta({ id: "Named" });
    const schemas = schemasOf(describing(Root));
    expect(schemas["Named"]?.properties["root"]).to.deep.equal(refTo("post0Body"));
    expect(schemas["post0Body"]?.properties["named"]).to.deep.equal(refTo("Named"));
  });

  it("may have any id", () => {
    const schemas = schemasOf(describing(z.looseObject({ n: z.int().meta({ id: "a b/c~d" }) })));
    expect(schemas).to.have.property("a_b_c_d");
    const document = describing(z.looseObject({ n: z.int().meta({ id: "a b/c~d" }) }));
    expect(JSON.stringify(document.paths)).to.contain('"$ref":"#/components/schemas/a_b_c_d"');
  });

  it("keep the schemas of problems apart from those of the application", () => {
    const question = z.object({ question: z.string() });
    const document = describing(question.meta({ id: "Problem" }), question.meta({ id: "ValidationProblem" }));
    const schemas = schemasOf(document);
    expect(schemas["Problem"]?.properties).to.include.keys("title", "request_id");
    expect(schemas["ValidationProblem"]).to.have.property("allOf");
    expect(schemas["Problem2"]?.properties).to.have.keys("question");
    expect(schemas["ValidationProblem2"]?.properties).to.have.keys("question");
    const text = JSON.stringify(document.paths["/0"]);
    expect(text).to.contain(`"application/json":{"schema":{"$ref":"#/components/schemas/Problem2"}}`);
    expect(text).to.contain(`"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}`);
  });
});
