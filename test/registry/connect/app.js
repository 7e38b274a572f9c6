import { currentContext } from "@svc/context";
import { health } from "@svc/health";
import { bodyOf, jsonBody } from "@svc/json-body";
import { badRequest, notFound, problemHandler, sendJson } from "@svc/problem";
import { rateLimit } from "@svc/rate-limit";
import { requestId } from "@svc/request-id";
import connect from "connect";

export const app = connect();
app.use(requestId());
app.use(health({ service: "orders", version: "1.2.3", env: "local" }));
app.use(rateLimit({ limit: 3, windowSeconds: 3600 }));
app.use(jsonBody());
app.use("/orders", (req, res, next) => {
  const body = bodyOf(req);
  if (body?.id === undefined) return next(badRequest("the order has no id"));
  sendJson(req, res, 201, { id: body.id, seen: currentContext().requestId });
});
app.use(notFound());
app.use(problemHandler());
