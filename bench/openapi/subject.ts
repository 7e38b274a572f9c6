import { createServer } from "node:http";
import { documentOf, route } from "@svc/openapi";
import { problemHandler, unprocessable } from "@svc/problem";
import express, { type ErrorRequestHandler, type Express, type Response } from "express";
import { middleware as openApiValidator } from "express-openapi-validator";
import { expectEqual } from "../harness/expect-equal.ts";
import { createInjector } from "../harness/injector.ts";
import { requestBytes } from "../harness/request-bytes.ts";
import type { Subject } from "../harness/subject.ts";
import { faultsOf, Order, orderText, refusedText } from "./orders.ts";

/** What validates the body; `bare-express5` does not validate. */
export type By = "bare-express5" | "by-hand" | "svc" | "express-openapi-validator";

/** The setting of a case, as JSON. */
export interface OrderSetting {
  readonly by: By;
  /** Whether the bodies have faults. */
  readonly isRefused: boolean;
}

const BODIES = 64;
const IN_FLIGHT = 16;
const PATH = "/orders";

/**
 * Serves orders with Express 5. It parses the bodies from JSON, but does not read them from a stream, which costs the same
 * in every case.
 */
export function start(text: string): Promise<Subject> {
  const { by, isRefused } = JSON.parse(text) as OrderSetting;
  const bodies = Array.from({ length: BODIES }, (_, index) =>
    isRefused ? refusedText(index) : orderText(index),
  );
  let next = 0;
  let lastStatus = 0;
  const app = express();
  app.use((req, res, proceed) => {
    req.body = JSON.parse(bodies[next++ % BODIES] ?? "");
    res.once("finish", () => {
      lastStatus = res.statusCode;
      // The response was sent. Replace its status, because the harness accepts only 200.
      res.statusCode = 200;
    });
    proceed();
  });
  addRoute(app, by);
  app.use(problemHandler() as never);
  const injector = createInjector(createServer(app));
  const headers = { Host: "localhost", "Content-Type": "application/json", Accept: "application/json" };
  // The validators read the body only if the request has a length.
  const all = { ...headers, "Content-Length": String(Buffer.byteLength(bodies[0] ?? "")) };
  const requests = [requestBytes("POST", PATH, all)];
  return Promise.resolve({
    async prove() {
      next = 0;
      const { body } = await injector.send("POST", PATH, all);
      const isPeer = by === "express-openapi-validator";
      expectEqual("the status", lastStatus, !isRefused ? 200 : isPeer ? 400 : 422);
      if (!isRefused) expectEqual("the body", body, JSON.stringify({ id: "order-0", amount: 12.5 }));
      else if (!isPeer) expectEqual("the faults", placesOf(body), "body.currency,body.quantity");
    },
    run: (count) => injector.run(requests, count, IN_FLIGHT),
  });
}

/** The error handler of the peer's documentation. */
const peerErrors: ErrorRequestHandler = (error: Readonly<Record<string, unknown>>, _req, res, _next) => {
  res.status(Number(error["status"] ?? 500)).json({ message: error["message"], errors: error["errors"] });
};

function placesOf(body: string): string {
  const { errors } = JSON.parse(body) as { readonly errors: readonly { readonly loc: readonly string[] }[] };
  return errors.map(({ loc }) => loc.join(".")).join();
}

function addRoute(app: Express, by: By): void {
  const answer = ({ id, amount }: Order, res: Pick<Response, "json">): void => void res.json({ id, amount });
  const trusting = (): void => void app.post(PATH, (req, res) => answer(req.body as Order, res));
  switch (by) {
    case "bare-express5":
      return trusting();
    case "by-hand":
      app.post(PATH, (req, res) => {
        const faults = faultsOf(req.body);
        if (faults.length > 0) throw unprocessable(faults);
        answer(req.body as Order, res);
      });
      return;
    case "svc":
      app.use(
        route({ method: "POST", path: PATH, request: { body: Order } }, ({ body }, _req, res) =>
          answer(body, res as never),
        ) as never,
      );
      return;
    case "express-openapi-validator": {
      const { openapi: _newer, ...document } = documentOf(
        [{ method: "POST", template: PATH, description: { request: { body: Order } } }],
        { info: { title: "Orders", version: "1" } },
      );
      const apiSpec = { openapi: "3.1.0", ...document } as never;
      app.use(openApiValidator({ apiSpec, validateRequests: true, validateResponses: false }));
      trusting();
      app.use(peerErrors);
      return;
    }
  }
}
