import { route } from "@svc/openapi";
import type { Express, RequestHandler } from "express";
import { z } from "zod";
import { type addGuardedRoute, item, routePath } from "./route.ts";

const params = z.strictObject({ id: z.string().regex(/^\d{1,6}$/) });
const body = z.strictObject({
  id: z.string(),
  name: z.string(),
  price: z.number(),
  tags: z.array(z.string()),
});

/** Adds the guarded route with a description, which validates its parameter. */
export const addDescribedRoute: typeof addGuardedRoute = (app, guards, seen, read) => {
  const described = route(
    {
      method: "GET",
      path: routePath,
      before: guards as never,
      request: { params },
      responses: { 200: { body } },
    },
    (valid, req, res) => {
      seen.tenant = read.tenant(req as never);
      seen.caller = read.caller(req as never);
      res.json(item(valid.params.id));
    },
  );
  (app as Express).use(described as unknown as RequestHandler);
};
