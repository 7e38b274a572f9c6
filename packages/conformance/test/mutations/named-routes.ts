import type { IncomingMessage, ServerResponse } from "node:http";
import type { Mutation } from "./mutation.ts";
import type { HeldAnswer } from "../support/mutating-layer.ts";
import type { Differences } from "../support/service-under-test.ts";

const guarded = { security: [{ bearer: [] }], responses: {} };
const open = { security: [], responses: {} };

/** An OpenAPI document that lists some routes of the services under test. */
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

/** Returns a request handler that serves the document and leaves all other requests to the service. */
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
    what: "an unsupported method of a documented path gets a 404",
    base: "swift",
    differences: named((answer) => {
      if (answer.status === 405 && answer.path === "/orders") become(answer, 404, "Not Found");
    }),
  },
  {
    rule: "ERR-10",
    what: "Allow omits the method of a documented path",
    base: "swift",
    differences: named((answer) => {
      if (answer.status === 405 && answer.path === "/json") answer.res.setHeader("Allow", "GET");
    }),
  },
  {
    rule: "ERR-11",
    what: "an unknown path below a documented one gets a 400",
    base: "swift",
    differences: named((answer) => {
      if (answer.status === 404 && answer.path.startsWith("/orders/")) become(answer, 400, "Bad Request");
    }),
  },
  {
    rule: "ERR-12",
    what: "the 401 of a documented route has no WWW-Authenticate header",
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
    what: "instance contains the query on a documented route",
    base: "swift",
    differences: named((answer, req) => {
      if (answer.status !== 405 || answer.path !== "/orders") return;
      answer.setJson({ ...answer.json(), instance: req.url });
    }),
  },
  {
    rule: "AUTH-13",
    what: "a route that is documented as protected admits anonymous requests",
    base: "swift",
    differences: {
      request: serveDocument({ ...openapiDocument, paths: { "/open": { get: guarded } } }),
    },
  },
];
