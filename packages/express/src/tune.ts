import { IncomingMessage, ServerResponse } from "node:http";
import { ConfigurationError } from "@svc/options";
import { type ExpressApp, isExpressApp } from "./express-app.ts";
import { endInOneWrite } from "./one-write.ts";
import { addResponseLayer } from "./response-layer.ts";
import { answerJsonInOneStep } from "./tuned-json.ts";
import { weakEtag } from "./weak-etag.ts";

/** Options for `http.createServer()`: the classes to use for requests and responses. */
export interface TunedClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

const tunedApps = new WeakMap<ExpressApp, TunedClasses>();

/**
 * Makes an Express application (4 or 5) send the same responses in less time. A second call changes nothing and returns
 * the same classes.
 *
 * @returns classes for `http.createServer(tune(app), app)`. On a server without these classes, such as the one from
 *   `app.listen()`, only `res.json` and ETags are faster; Express still changes the prototypes of every request and
 *   response
 *
 * @throws ConfigurationError for a value that is not an Express application
 */
export function tune(app: unknown): TunedClasses {
  if (!isExpressApp(app)) {
    const message = `must be an Express application, as returned by express(); it is ${kindOf(app)}`;
    throw new ConfigurationError("tune()", [{ key: "app", message }]);
  }
  let classes = tunedApps.get(app);
  if (classes === undefined) {
    tuneResponses(app);
    classes = classesOf(app);
    tunedApps.set(app, classes);
  }
  return classes;
}

function tuneResponses(app: ExpressApp): void {
  const layer = addResponseLayer(app);
  const expressTag = weakTagOf(app);
  // Replace only the function; the setting `etag` keeps its value.
  if (expressTag !== undefined) app.set("etag fn", weakEtag);
  answerJsonInOneStep(app, layer, endInOneWrite(layer), expressTag);
}

/** Returns Express's own weak ETag function if the application uses it and it makes the same ETags as this package. */
function weakTagOf({ settings }: ExpressApp): unknown {
  const { etag, "etag fn": make } = settings;
  if ((etag !== "weak" && etag !== true) || typeof make !== "function") return undefined;
  return make(probe, "utf8") === weakEtag(probe, "utf8") ? make : undefined;
}

const probe = '{"probe":true}';

/**
 * Returns classes whose objects have the application's prototypes from the start. Without them, Express changes the
 * prototypes of every request and response, which takes a fifth of the time of a small route.
 */
function classesOf(app: ExpressApp): TunedClasses {
  return {
    IncomingMessage: classWith(IncomingMessage, app.request),
    ServerResponse: classWith(ServerResponse, app.response),
  };
}

// The `prototype` of a class cannot be replaced, but that of a function can be the application's prototype.
function classWith<Class extends Function>(parent: Class, prototype: object): Class {
  // Unlike a class, Node's constructors can be called on an existing object, which is faster.
  const isClass = String(parent).startsWith("class");
  function Tuned(this: object, first: unknown, second: unknown): object | undefined {
    if (isClass) return Reflect.construct(parent, [first, second], Tuned) as object;
    parent.call(this, first, second);
    return undefined;
  }
  Object.setPrototypeOf(Tuned, parent);
  Tuned.prototype = prototype;
  return Tuned as unknown as Class;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "function") return "another function";
  return typeof value === "object" ? "another object" : `a ${typeof value}`;
}
