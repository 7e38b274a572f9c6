import { ConfigurationError, errorText, type Fault, unknownOption } from "@svc/options";
import type { Request, Response } from "express";
import helmet, { type HelmetOptions } from "helmet";
import { type IncomingMessage, type ServerResponse, validateHeaderValue } from "node:http";
import { type Header, header } from "./seeded-headers.ts";

/**
 * Options of helmet for pages. helmet's types for ES modules and for CommonJS declare different unique symbols, so helmet's own
 * type of a policy is assignable in only one of them.
 */
export type PageHelmetOptions = {
  readonly [N in keyof HelmetOptions]: N extends "contentSecurityPolicy"
    ? boolean | PagePolicy
    : HelmetOptions[N];
};

interface PagePolicy {
  readonly useDefaults?: boolean;
  readonly directives?: Readonly<
    Record<string, null | symbol | Iterable<string | ((req: IncomingMessage, res: ServerResponse) => string)>>
  >;
  readonly reportOnly?: boolean;
}

/** Options of helmet for the pages of a service, or a synchronous function that returns them for each page. */
export type PageHelmet = PageHelmetOptions | ((req: Request, res: Response) => PageHelmetOptions);

/** Returns the headers of one page. */
export type PageHeadersOf = (req: IncomingMessage, res: ServerResponse) => readonly Header[];

/** Returns helmet's headers for pages without options of the application. They are the same on every page. */
export function helmetHeaders(https: boolean): readonly Header[] {
  return recorded(helmet(optionsFor(https, {})), {} as IncomingMessage, {} as ServerResponse);
}

/**
 * Returns a function for the headers of pages with the application's options. It calls helmet for each page if the options or a
 * directive are a function; otherwise helmet runs once, at creation.
 *
 * @param https whether clients use https; if false, the defaults for headers that require https are omitted
 * @param pageHeaders headers that replace helmet's, unless the application's options contain them
 * @throws ConfigurationError for options that helmet refuses
 */
export function ownHelmetHeaders(
  given: PageHelmet,
  https: boolean,
  pageHeaders: readonly Header[],
): PageHeadersOf {
  if (typeof given === "function") {
    return (req, res) => {
      const options = usable(given(req as Request, res as Response));
      const middleware = helmet(optionsFor(https, synchronous(options)));
      return withPageHeaders(recorded(middleware, req, res), pageHeaders, options);
    };
  }
  const unknown = unknownOptions(given);
  if (unknown.length > 0) throw new ConfigurationError("createService()", unknown);
  const middleware = checked(() => helmet(optionsFor(https, synchronous(given))));
  const headersOf: PageHeadersOf = (req, res) =>
    withPageHeaders(recorded(middleware, req, res), pageHeaders, given);
  if (hasFunctions(given)) return headersOf;
  const headers = checked(() => headersOf({} as IncomingMessage, {} as ServerResponse));
  return () => headers;
}

/** Returns both lists of headers; those of the second list replace headers of the first one. */
export function merged(first: readonly Header[], second: readonly Header[]): readonly Header[] {
  const replaced = new Set(second.map(({ key }) => key));
  return [...first.filter(({ key }) => !replaced.has(key)), ...second];
}

function withPageHeaders(
  headers: readonly Header[],
  pageHeaders: readonly Header[],
  options: PageHelmetOptions,
): readonly Header[] {
  const isDecided = ({ key }: Header): boolean =>
    decisions[key]?.some((name) => options[name] !== undefined) === true;
  return merged(
    headers,
    pageHeaders.filter((each) => !isDecided(each)),
  );
}

/** The options of helmet that control a header, by its name in lower case. */
const decisions: Readonly<Record<string, readonly (keyof HelmetOptions)[]>> = {
  "content-security-policy": ["contentSecurityPolicy"],
  "x-frame-options": ["xFrameOptions", "frameguard"],
  "referrer-policy": ["referrerPolicy"],
};

/** Returns the options; without https, with defaults that omit headers which require https and would lock out browsers. */
function optionsFor(https: boolean, given: PageHelmetOptions): HelmetOptions {
  if (https) return given as HelmetOptions;
  const { contentSecurityPolicy: policy = true } = given;
  const { directives = {}, useDefaults = true } = typeof policy === "object" ? policy : {};
  const isDecided = "upgrade-insecure-requests" in directives || "upgradeInsecureRequests" in directives;
  const relaxed =
    policy === false || isDecided || !useDefaults
      ? policy
      : {
          ...(typeof policy === "object" ? policy : {}),
          directives: { ...directives, "upgrade-insecure-requests": null },
        };
  const hasTransport = "strictTransportSecurity" in given || "hsts" in given;
  // helmet's type allows only one of `strictTransportSecurity` and `hsts`; the spread hides which one is set.
  return {
    ...(hasTransport ? {} : { strictTransportSecurity: false }),
    ...given,
    contentSecurityPolicy: relaxed,
  } as HelmetOptions;
}

function hasFunctions({ contentSecurityPolicy: policy }: PageHelmetOptions): boolean {
  const directives = typeof policy === "object" ? (policy.directives ?? {}) : {};
  return Object.values(directives).some(
    (values) => typeof values === "object" && [...(values ?? [])].some((each) => typeof each === "function"),
  );
}

/** Returns the headers that helmet would set, without setting them. */
function recorded(
  middleware: ReturnType<typeof helmet>,
  req: IncomingMessage,
  res: ServerResponse,
): readonly Header[] {
  const set = new Map<string, string>();
  // The recorder inherits from the response, because directives read members such as `res.locals`.
  const recorder = Object.create(res, {
    setHeader: {
      value(name: string, value: string) {
        // Report an invalid value here as a fault of the options; on the response it would become an error of the handler.
        validateHeaderValue(name, value);
        set.set(name, value);
      },
    },
    removeHeader: { value: (name: string) => void set.delete(name) },
  }) as ServerResponse;
  middleware(req, recorder, (error) => {
    if (error !== undefined) throw error;
  });
  return [...set].map(([name, value]) => header(name, value));
}

/**
 * Returns the options that a function has returned.
 *
 * @throws ConfigurationError for a promise, another value that is not an object, and options that helmet would ignore
 */
function usable(options: PageHelmetOptions): PageHelmetOptions {
  const given: unknown = refusePromise("helmet()", "options of helmet", options);
  if (typeof given !== "object" || given === null) {
    throw wrong("helmet()", "must return an object of options of helmet");
  }
  const unknown = unknownOptions(options);
  if (unknown.length > 0) throw new ConfigurationError("createService()", unknown);
  return options;
}

/** Returns the options with functions in directives that throw instead of returning a promise. */
function synchronous(given: PageHelmetOptions): PageHelmetOptions {
  const { contentSecurityPolicy: policy } = given;
  if (typeof policy !== "object" || !hasFunctions(given)) return given;
  const directives = Object.entries(policy.directives ?? {}).map(([name, values]) => {
    if (typeof values !== "object" || values === null || typeof values === "string") return [name, values];
    const key = `helmet.contentSecurityPolicy.directives.${name}`;
    const each = [...values].map((value) =>
      typeof value !== "function"
        ? value
        : (req: IncomingMessage, res: ServerResponse) => refusePromise(key, "text", value(req, res)),
    );
    return [name, each];
  });
  const checkedPolicy = { ...policy, directives: Object.fromEntries(directives) as PagePolicy["directives"] };
  return { ...given, contentSecurityPolicy: checkedPolicy } as PageHelmetOptions;
}

function refusePromise<T>(key: string, what: string, result: T): T {
  if (!(result instanceof Promise)) return result;
  // Ignore the promise's rejection, because an unhandled one would end the process.
  result.catch(() => undefined);
  throw wrong(key, `must return ${what} synchronously; it returned a promise`);
}

function wrong(key: string, message: string): ConfigurationError {
  return new ConfigurationError("createService()", [{ key, message }]);
}

// The function `helmet` has a member for each of its options.
const known = Object.keys(helmet);
const knownNames = new Set(known);

/** Returns a fault for each option that helmet would ignore. */
function unknownOptions(given: PageHelmetOptions): readonly Fault[] {
  return Object.keys(given)
    .filter((name) => !knownNames.has(name))
    .map((name) => ({ key: `helmet.${name}`, message: unknownOption(name, known) }));
}

function checked<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    const message = `has options that helmet refuses: ${errorText(error)}`;
    throw new ConfigurationError("createService()", [{ key: "helmet", message }], { cause: error });
  }
}
