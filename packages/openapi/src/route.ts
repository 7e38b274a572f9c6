import type { IncomingMessage, ServerResponse } from "node:http";
import { type Middleware, routedPathOf } from "@svc/context";
import { badRequest, internalError, unprocessable } from "@svc/problem";
import { checkDescription } from "./check-description.ts";
import { describeHandler, type RouteDescription } from "./description.ts";
import { checkResponse } from "./response-check.ts";
import type { TextValues } from "./text-values.ts";
import { type RequestSchemas, type Valid, type Validation, validatorFor } from "./validate.ts";

/** The members of an Express response that handlers use most. Annotate a handler's `res` to use others. */
export interface RouteResponse extends ServerResponse {
  status(code: number): this;
  json(body: unknown): this;
  send(body?: unknown): this;
  set(name: string, value: string): this;
  type(type: string): this;
  location(url: string): this;
}

type Next = (error?: unknown) => void;

/** The handler of a described route. The first argument has the validated values. */
export type RouteHandler<
  S extends RequestSchemas,
  Req extends IncomingMessage = IncomingMessage,
  Res extends ServerResponse = RouteResponse,
> = (valid: Valid<S>, req: Req, res: Res, next: Next) => unknown;

/** A described route: middleware for `app.use()` and `router.use()` of Express 4 and 5. */
export type DescribedRoute = Middleware & { readonly stack: readonly unknown[] };

interface RoutedRequest extends IncomingMessage {
  params?: Record<string, string>;
  route?: unknown;
  body?: unknown;
}

/**
 * Creates a described route. Requests for its method and path run `before`, are validated, and reach the
 * handler; all other requests go to `next()`. Invalid requests get a 422 problem that lists the faults
 * (ERR-15 to ERR-17). Errors and rejections go to `next()`.
 *
 * The route may be added to several applications and routers. `routesOf()` of `@svc/route-template` finds it,
 * and a request with another method gets 405 as for a route of Express.
 *
 * @throws TypeError for an invalid description
 */
export function route<
  const S extends RequestSchemas,
  Req extends IncomingMessage = IncomingMessage,
  Res extends ServerResponse = RouteResponse,
>(description: RouteDescription<S>, handler: RouteHandler<S, Req, Res>): DescribedRoute {
  const pattern = checkDescription(description);
  if (typeof handler !== "function") throw new TypeError("route(): handler must be a function");
  const { path, request } = description;
  const method = description.method.toUpperCase();
  const schemas = request ?? ({} as S);
  const validateRequest = validatorFor(schemas);
  const hasParams = pattern.names.length > 0;
  const readsQuery = schemas.query !== undefined;
  // Read the headers only for a schema, because Node.js builds them when they are first read.
  const readsHeaders = schemas.headers !== undefined;

  function respond(req: IncomingMessage, res: ServerResponse, next: Next): void {
    const { params = {}, body } = req as RoutedRequest;
    const handle = (result: Validation<S>): unknown => {
      if (result.issues !== undefined) throw unprocessable(result.issues);
      checkResponse(req, res, description);
      return handler(result.value, req as Req, res as Res, next);
    };
    try {
      const query = readsQuery ? queryOf(req.url ?? "") : undefined;
      const headers = readsHeaders ? req.headers : undefined;
      const validated = validateRequest({ params, query, headers, body });
      const result =
        validated instanceof Promise ? validated.catch(schemaFailed).then(handle) : handle(validated);
      if (isThenable(result)) result.then(undefined, (error: unknown) => next(error ?? internalError()));
    } catch (error) {
      next(error);
    }
  }
  describeHandler(respond, description as RouteDescription);

  const handlers = [...[description.before ?? []].flat(), respond as Middleware];
  // routesOf(), notFound() and instrumentations read this member as the stack of a router with one route.
  const entry = {
    path,
    methods: { [method.toLowerCase()]: true },
    stack: handlers.map((handle) => ({ method: method.toLowerCase(), handle })),
  };
  const last = handlers.length - 1;

  function run(req: RoutedRequest, params: Record<string, string>, res: ServerResponse, next: Next): void {
    const { params: outer, route: outerRoute } = req;
    if (hasParams) req.params = { ...outer, ...params };
    req.route = entry;
    const done: Next = (error) => {
      if (hasParams) req.params = outer ?? {};
      // Keep the route of a failed request, whose template the access log and the metrics report.
      if (!error || error === "route" || error === "router") req.route = outerRoute;
      next(error === "route" ? undefined : error);
    };
    if (last === 0) return respond(req, res, done);
    const step = (at: number): void => {
      const handle = handlers[at] as Middleware;
      try {
        const result: unknown = handle(
          req,
          res,
          at === last ? done : (error) => (error ? done(error) : step(at + 1)),
        );
        // Middleware of Express 5 may be asynchronous; Express 4 would ignore its rejection.
        if (isThenable(result)) result.then(undefined, (error: unknown) => done(error ?? internalError()));
      } catch (error) {
        done(error);
      }
    };
    step(0);
  }

  function describedRoute(req: IncomingMessage, res: ServerResponse, next: Next): void {
    if (req.method !== method && !(req.method === "HEAD" && method === "GET")) return next();
    let params: Record<string, string> | undefined;
    try {
      params = pattern.match(routedPathOf(req.url ?? ""));
    } catch (cause) {
      return next(badRequest("the path contains an invalid percent encoding", { cause }));
    }
    if (params === undefined) return next();
    run(req as RoutedRequest, params, res, next);
  }

  const layer = {
    route: entry,
    path: "",
    handle: describedRoute,
    match(given: string) {
      layer.path = matches(given) ? given : "";
      return layer.path === "" ? false : { path: given, params: {} };
    },
  };
  function matches(given: string): boolean {
    try {
      return pattern.match(given) !== undefined;
    } catch {
      return false;
    }
  }
  return Object.assign(describedRoute, { stack: [layer] });
}

function schemaFailed(cause: unknown): never {
  throw internalError({ cause });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  );
}

/** Returns the values of a query; for a repeated name the list of its values. */
function queryOf(url: string): TextValues {
  const values = Object.create(null) as Record<string, string | string[]>;
  const start = url.indexOf("?");
  if (start === -1) return values;
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    const before = values[name];
    if (before === undefined) values[name] = value;
    else if (typeof before === "string") values[name] = [before, value];
    else before.push(value);
  }
  return values;
}
