import type { HeldAnswer } from "../support/mutating-layer.ts";
import type { Mutation } from "./mutation.ts";

/** Changes the response to a GET of one path. */
function changing(path: string, change: (answer: HeldAnswer) => void): Mutation["differences"] {
  return {
    answer(answer) {
      if (answer.path === path && answer.status === 200) change(answer);
    },
  };
}

function missing(answer: HeldAnswer): void {
  answer.status = 404;
  answer.setText("", "text/plain");
}

export const descriptionMutations = (): readonly Mutation[] => [
  {
    rule: "DOC-1",
    what: "/openapi.json omits a route",
    base: "described",
    differences: changing("/openapi.json", (answer) => {
      const document = answer.json() as { readonly paths: Record<string, unknown> };
      delete document.paths["/items/{id}"];
      answer.setJson(document);
    }),
  },
  {
    rule: "DOC-1",
    what: "/openapi.json lists a path without its method",
    base: "described",
    differences: changing("/openapi.json", (answer) => {
      const document = answer.json() as { readonly paths: Record<string, unknown> };
      document.paths["/json"] = {};
      answer.setJson(document);
    }),
  },
  {
    rule: "DOC-1",
    what: "/openapi.json is missing",
    base: "described",
    differences: changing("/openapi.json", missing),
    unjudged: ["DOC-2"],
  },
  {
    rule: "DOC-2",
    what: "/openapi.json is a description of OpenAPI 3.0",
    base: "described",
    differences: changing("/openapi.json", (answer) =>
      answer.setJson({ ...answer.json(), openapi: "3.0.3" }),
    ),
  },
  {
    rule: "DOC-2",
    what: "/openapi.json is missing in prod",
    base: "prod",
    differences: changing("/openapi.json", missing),
    unjudged: ["DOC-1"],
  },
  {
    rule: "DOC-3",
    what: "/docs is missing",
    base: "described",
    differences: changing("/docs", missing),
  },
  {
    rule: "DOC-3",
    what: "/docs is not a page",
    base: "described",
    differences: changing("/docs", (answer) => answer.res.setHeader("Content-Type", "text/plain")),
  },
  {
    rule: "DOC-3",
    what: "/docs is not interactive",
    base: "described",
    differences: changing("/docs", (answer) => answer.setText("<!doctype html><h1>Routes</h1>", "text/html")),
  },
  {
    rule: "DOC-3",
    what: "/docs is present in prod",
    base: "prod",
    differences: { toml: [["[plugin.auth]", "[plugin.openapi]\ndocs = true\n\n[plugin.auth]"]] },
  },
];
