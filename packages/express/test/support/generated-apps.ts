import { createRequire } from "node:module";
import type { Express, NextFunction, Request, RequestHandler, Response } from "express";
import fc from "fast-check";
import type { expressMajors } from "@svc/test-support";
import type { Answer } from "./generated-answers.ts";

type ExpressFactory = (typeof expressMajors)["express 5"];
type Factory = (...args: unknown[]) => RequestHandler;
/** Records one line about a call that middleware has observed. */
type Note = (line: string) => void;

const require = createRequire(import.meta.url);
const compression = require("compression") as Factory;
const session = require("express-session") as Factory;
const responseTime = require("response-time") as Factory;
const morgan = require("morgan") as Factory;
const onHeaders = require("on-headers") as (res: Response, listener: (this: Response) => void) => void;

/** The plan of an application, from which a tuned and an untuned application are built. */
export interface AppPlan {
  readonly settings: Settings;
  /** The settings of the outer application, if there is one. */
  readonly outerSettings: Settings;
  readonly place: "top" | "mounted" | "mounted twice" | "in a router";
  readonly middleware: readonly (keyof typeof middleware)[];
  readonly override: keyof typeof overrides;
  readonly overridden: "before" | "after";
  readonly tuned: "first" | "last";
  /** Whether the server uses the classes that `tune()` returns; if false, only the application is tuned. */
  readonly classes: boolean;
}

interface Settings {
  readonly etag: keyof typeof etags;
  readonly spaces: unknown;
  readonly replacer: unknown;
  readonly escape: boolean;
  readonly poweredBy: boolean;
}

const etags = {
  default: undefined,
  weak: "weak",
  strong: "strong",
  on: true,
  off: false,
  own: (body: Buffer | string, encoding?: BufferEncoding) =>
    `"${Buffer.isBuffer(body)}-${Buffer.byteLength(body, encoding)}"`,
  "own, none": () => undefined,
} as const;

const middleware = {
  compression: () => compression({ threshold: 0 }),
  session: () =>
    session({
      secret: "the secret of a test",
      resave: true,
      saveUninitialized: true,
      rolling: true,
      genid: () => "id",
    }),
  "on-headers": () => (_req: Request, res: Response, next: NextFunction) => {
    onHeaders(res, function listener() {
      this.setHeader("X-Names", this.getHeaderNames().join(","));
    });
    next();
  },
  "response-time": () =>
    responseTime((_req: Request, res: Response) => void res.set("X-Response-Time", "some")),
  morgan: (note: Note) =>
    morgan(":method :url :status :res[content-length] :res[content-type] :res[etag]", {
      stream: { write: note },
    }),
  "patched json": (note: Note) => patch("json", (args) => note(`json ${args.length}`)),
  "patched send": (note: Note) => patch("send", ([body]) => note(`send ${typeof body}`)),
  "patched end": (note: Note) =>
    patch("end", ([body, encoding]) => note(`end ${Buffer.isBuffer(body)} ${String(encoding)}`)),
  "patched set": (note: Note) => patch("set", (args) => note(`set ${JSON.stringify(args)}`)),
} satisfies Readonly<Record<string, (note: Note) => RequestHandler>>;

/** Changes that applications make to the prototypes of their responses and requests. */
const overrides = {
  nothing: () => undefined,
  "response.json": ({ response }: Express, note: Note) => wrap(response, "json", () => note("json")),
  "response.send": ({ response }: Express, note: Note) => wrap(response, "send", () => note("send")),
  "response.set": ({ response }: Express, note: Note) =>
    wrap(response, "set", ([name]) => note(`set ${String(name)}`)),
  "response.end": ({ response }: Express, note: Note) =>
    wrap(response, "end", ([body]) => note(`end ${typeof body}`)),
  "response.get": ({ response }: Express, note: Note) =>
    wrap(response, "get", ([name]) => note(`get ${String(name)}`)),
  "request.fresh": ({ request }: Express) =>
    void Object.defineProperty(request, "fresh", { configurable: true, get: () => true }),
  "app.response": (app: Express) => {
    app.response = Object.create(app.response, {
      sendOwn: { value: () => undefined },
    }) as Express["response"];
  },
} satisfies Readonly<Record<string, (app: Express, note: Note) => void>>;

type Method = (this: unknown, ...args: unknown[]) => unknown;

function wrap(target: object, name: string, seen: (args: unknown[]) => void): void {
  const holder = target as Record<string, Method>;
  const original = holder[name];
  holder[name] = function wrapped(...args) {
    seen(args);
    return original?.apply(this, args);
  };
}

function patch(name: string, seen: (args: unknown[]) => void): RequestHandler {
  return (_req, res, next) => {
    wrap(res, name, seen);
    next();
  };
}

const keysOf = <T extends object>(object: T): readonly (keyof T)[] => Object.keys(object) as (keyof T)[];

const settings: fc.Arbitrary<Settings> = fc.record({
  etag: fc.constantFrom(...Array<"default">(4).fill("default"), ...keysOf(etags)),
  spaces: fc.constantFrom(...Array<undefined>(10), 2, "\t"),
  replacer: fc.constantFrom(...Array<undefined>(10), ["a", "b"], keepAll),
  escape: fc.constantFrom(...Array<false>(8).fill(false), true),
  poweredBy: fc.boolean(),
});

function keepAll(_key: string, each: unknown): unknown {
  return each;
}

export const appPlans: fc.Arbitrary<AppPlan> = fc.record({
  settings,
  outerSettings: settings,
  place: fc.constantFrom("top", "top", "mounted", "mounted twice", "in a router"),
  middleware: fc.oneof(
    fc.constant([]),
    fc.shuffledSubarray([...keysOf(middleware)], { minLength: 1, maxLength: 3 }),
  ),
  override: fc.constantFrom("nothing", "nothing", "nothing", "nothing", ...keysOf(overrides)),
  overridden: fc.constantFrom("before", "after"),
  tuned: fc.constantFrom("first", "last"),
  classes: fc.boolean(),
});

/** Returns the path prefix of the routes of a plan; the index of the response follows it. */
export function prefixOf({ place }: AppPlan): string {
  return { top: "/", mounted: "/a/", "mounted twice": "/a/b/", "in a router": "/a/" }[place];
}

/**
 * Builds the application of a plan; its routes send the given answers.
 *
 * @param tune called once with the application of the server; a no-op for the untuned application
 */
export function buildApp(
  express: ExpressFactory,
  plan: AppPlan,
  answers: readonly Answer[],
  { tune, note }: { readonly tune: (app: Express) => void; readonly note: Note },
): Express {
  const outer = express();
  if (plan.override !== "nothing" && plan.overridden === "before") overrides[plan.override](outer, note);
  if (plan.tuned === "first") tune(outer);
  if (plan.overridden === "after") overrides[plan.override](outer, note);
  const inner = innerOf(express, plan, outer);
  if (inner !== outer) apply(plan.outerSettings, outer);
  apply(plan.settings, inner);
  for (const name of plan.middleware) inner.use(middleware[name](note));
  inner.all("/:index", (req, res) => {
    const answer = answers[Number(req.params.index)];
    if (answer === undefined) throw new Error("unknown answer");
    if (answer.status !== undefined) res.status(answer.status);
    for (const [name, value] of answer.presets) res.setHeader(name, value);
    answer.how(res, answer.value(res), req);
  });
  inner.use((error: Error, _req: Request, res: Response, _next: NextFunction) => {
    if (!res.headersSent) res.status(500).json({ name: error.name, message: error.message });
    else if (!res.writableEnded) res.end();
  });
  if (plan.tuned === "last") tune(outer);
  return outer;
}

function innerOf(express: ExpressFactory, { place }: AppPlan, outer: Express): Express {
  if (place === "top") return outer;
  const inner = express();
  if (place === "mounted") outer.use("/a", inner);
  else if (place === "in a router") outer.use("/a", express.Router().use(inner));
  else outer.use("/a", express().use("/b", inner));
  return inner;
}

function apply({ etag, spaces, replacer, escape, poweredBy }: Settings, app: Express): void {
  if (etag !== "default") app.set("etag", etags[etag]);
  if (spaces !== undefined) app.set("json spaces", spaces);
  if (replacer !== undefined) app.set("json replacer", replacer);
  if (escape) app.set("json escape", true);
  if (!poweredBy) app.disable("x-powered-by");
  app.set("env", "test");
}
