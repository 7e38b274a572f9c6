import { createServer, IncomingMessage, ServerResponse } from "node:http";
import express from "express";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { addRoute } from "../route.ts";

/**
 * Express 5 tuned as `@svc/express` tunes it, and nothing else of it: requests and responses are born with the
 * prototypes that Express would give them, and there is no X-Powered-By. The fair base for what the service adds.
 */
export async function start(): Promise<Subject> {
  const app = express();
  app.disable("x-powered-by");
  class TunedRequest extends IncomingMessage {}
  class TunedResponse extends ServerResponse<TunedRequest> {}
  Object.setPrototypeOf(TunedRequest.prototype, app.request);
  Object.setPrototypeOf(TunedResponse.prototype, app.response);
  Object.assign(app, { request: TunedRequest.prototype, response: TunedResponse.prototype });
  addRoute(app);
  return httpSubject(createServer({ IncomingMessage: TunedRequest, ServerResponse: TunedResponse }, app));
}
