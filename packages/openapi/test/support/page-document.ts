import type { OpenApiDocument } from "../../src/page/document-shape.ts";

const problem = {
  "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
};

/** The document of a small service. */
export const expenses = {
  openapi: "3.1.0",
  info: { title: "Expenses", version: "1.2.3", description: "Records expenses.\n\nAmounts are in euros." },
  tags: [
    { name: "Reports", description: "Sums by month." },
    { name: "Expenses", description: "What was spent." },
  ],
  paths: {
    "/health": { get: { summary: "", responses: { 200: { description: "The process runs." } } } },
    "/reports/{month}": {
      parameters: [
        { name: "month", in: "path", required: true, schema: { type: "string" }, example: "2026-03" },
      ],
      get: {
        tags: ["Reports"],
        summary: "Sums of a month",
        deprecated: true,
        responses: { 200: { description: "The sums." } },
      },
    },
    "/expenses": {
      post: {
        tags: ["Expenses"],
        summary: "Record an expense",
        description: "The id may be chosen.\nA second one with the same id is refused.",
        security: [{ bearerAuth: ["expenses:write"] }],
        "x-roles": ["clerk", "admin"],
        "x-requires-tenant": true,
        "x-internal": "never shown",
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Expense" } } },
        },
        responses: {
          201: {
            description: "The expense was recorded.",
            content: { "application/json": { schema: { $ref: "#/components/schemas/Expense" } } },
          },
          422: { description: "The request is not valid.", content: problem },
        },
      },
      get: {
        tags: ["Expenses"],
        summary: "List expenses",
        security: [{ bearerAuth: [] }, {}],
        parameters: [
          { $ref: "#/components/parameters/Limit" },
          {
            name: "category",
            in: "query",
            description: "Only these",
            schema: { type: "array", items: { enum: ["meals", "travel"] } },
          },
          { name: "X-Trace", in: "header", schema: { type: "string", format: "uuid" }, required: true },
        ],
        responses: { 200: { description: "The expenses." } },
      },
    },
  },
  components: {
    parameters: {
      Limit: {
        name: "limit",
        in: "query",
        required: true,
        schema: { type: "integer", minimum: 1, maximum: 100, default: 20 },
        example: 50,
      },
    },
    schemas: {
      Expense: {
        type: "object",
        required: ["amount", "category"],
        properties: {
          amount: { type: "number", exclusiveMinimum: 0, description: "In euros", examples: [12.5] },
          category: { enum: ["meals", "travel"] },
          note: { type: ["null", "string"], maxLength: 200 },
          split: { type: "array", items: { $ref: "#/components/schemas/Expense" } },
          id: { type: "string", format: "uuid", readOnly: true },
        },
      },
      Problem: { type: "object", properties: { title: { type: "string" }, detail: { type: "string" } } },
    },
    securitySchemes: { bearerAuth: { type: "http", scheme: "bearer" } },
  },
  "x-unlisted": [{ method: "GET", pattern: "/^\\/old-.*/" }],
} satisfies OpenApiDocument;

/** A document of `count` operations, each with parameters, a body and responses. */
export function documentOf(count: number): OpenApiDocument {
  const { post, get } = expenses.paths["/expenses"];
  const paths: Record<string, unknown> = {};
  for (let index = 0; index < count; index += 2) {
    const tags = [`Area ${index % 20}`];
    paths[`/area-${index % 20}/things-${index}/{id}`] = { get: { ...get, tags }, post: { ...post, tags } };
  }
  return { ...expenses, paths };
}
