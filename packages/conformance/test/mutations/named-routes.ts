import type { IncomingMessage, ServerResponse } from "node:http";
import type { Mutation } from "./mutation.ts";
import type { HeldAnswer } from "../support/mutating-layer.ts";
import type { Differences } from "../support/service-under-test.ts";

const guarded = { security: [{ bearer: [] }], responses: {} };
const open = { security: [], responses: {} };

/** The document of the services under test for some of their routes. */
export const openapiDocument: object = {
  openapi: "3.1.0",
  info: { title: "tested", version: "1.2.3" },
  security: [{ bearer: [] }],
  paths: {
    "/open": { get: open },
    "/orders": { get: guarded, head: guarded },
    "/admin": { get: { responses: {} } },
    "/json": { post: open },
    "/items/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      get: open,
    },
  },
};

/** Serves the document in front of a service. */
export function serveDocument(document: object = openapiDocument) {
  return (req: IncomingMessage, res: ServerResponse): boolean => {
    if (req.url !== "/openapi.json") return false;
    res.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(document));
    return true;
  };
}

function named(answer: (answer: HeldAnswer, req: IncomingMessage) => void): Differences {
  return { request: serveDocument(), answer };
}

function become(answer: HeldAnswer, status: number, title: string): void {
  answer.status = status;
  answer.setJson({ ...answer.json(), status, title });
}

/** Services that break a rule on a route known only from `/openapi.json`. */
export const namedRouteMutations = (): readonly Mutation[] => [
  {
    rule: "ERR-9",
    what: "an unsupported method of a named path is a 404",
    base: "swift",
    differences: named((answer) => {
      if (answer.status === 405 && answer.path === "/orders") become(answer, 404, "Not Found");
    }),
  },
  {
    rule: "ERR-10",
    what: "Allow lacks the method of a named path",
    base: "swift",
    differences: named((answer) => {
      if (answer.status === 405 && answer.path === "/json") answer.res.setHeader("Allow", "GET");
    }),
  },
  {
    rule: "ERR-11",
    what: "an unknown path below a named one is a 400",
    base: "swift",
    differences: named((answer) => {
      if (answer.status === 404 && answer.path.startsWith("/orders/")) become(answer, 400, "Bad Request");
    }),
  },
  {
    rule: "ERR-12",
    what: "a 401 of a named route without WWW-Authenticate",
    base: "swift",
    differences: named((answer, req) => {
      const isAnonymous = req.headers.authorization === undefined;
      if (answer.status === 401 && answer.path === "/admin" && isAnonymous) {
        answer.res.removeHeader("www-authenticate");
      }
    }),
  },
  {
    rule: "ERR-4",
    what: "instance keeps the query on a named route",
    base: "swift",
    differences: named((answer, req) => {
      if (answer.status !== 405 || answer.path !== "/orders") return;
      answer.setJson({ ...answer.json(), instance: req.url });
    }),
  },
  {
    rule: "AUTH-13",
    what: "a named route that requires credentials admits every caller",
    base: "swift",
    differences: {
      request: serveDocument({ ...openapiDocument, paths: { "/open": { get: guarded } } }),
    },
  },
];
