import { LoadTestError } from "./errors.ts";
import { headersOf } from "./headers.ts";
import type { StepReport } from "./report.ts";

/** Options of `loadTest()`. */
export interface LoadTestOptions {
  /** Base URL of the service; `/openapi.json`, `/ready` and the routes are read below its path. Required. */
  readonly url: string;
  /** Routes to load: templates of the description or literal paths. Default: every route that can be filled. */
  readonly routes?: readonly string[] | undefined;
  /** Methods to load: GET, POST, PUT or PATCH; writes only with an example body. Default: `["GET"]`. */
  readonly methods?: readonly string[] | undefined;
  /** Number of clients of each step. Default: `[1, 4, 16, 64]`. */
  readonly clients?: readonly number[] | undefined;
  /** Duration of a step in seconds. Default: 10. */
  readonly seconds?: number | undefined;
  /** Duration of the warm-up before each step in seconds, which is not measured. Default: 1. */
  readonly warmUpSeconds?: number | undefined;
  /** Requests per second of all clients together (open loop). Default: each client sends as soon as it has a response. */
  readonly rate?: number | undefined;
  /** Bearer token. Default: none. */
  readonly token?: string | undefined;
  /** Request headers, each as `Name: value`. Default: none. */
  readonly headers?: readonly string[] | undefined;
  /** Time limit of a request in seconds, up to its last byte. Default: 10. */
  readonly timeoutSeconds?: number | undefined;
  /** The p99 in milliseconds above which a step breaks. Default: 500. */
  readonly maxP99Ms?: number | undefined;
  /** Share of errors in percent above which a step breaks. Default: 1. */
  readonly maxErrorRate?: number | undefined;
  /** Whether to load the framework's own routes too, such as `/health`. Default: false. */
  readonly includeFramework?: boolean | undefined;
  /** Ends the current step and the run. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the progress of a step, once per second. Default: none. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Receives each step when it has ended. Default: none. */
  readonly onStep?: ((step: StepReport) => void) | undefined;
}

/** The progress of the current step. */
export interface Progress {
  readonly clients: number;
  /** Seconds since the end of the warm-up; negative during it. */
  readonly seconds: number;
  /** Responses per second since the end of the warm-up. */
  readonly requestsPerSecond: number;
}

/** The validated options of a run. */
export interface Settings {
  readonly origin: string;
  /** Path of the base URL without a slash at its end. */
  readonly prefix: string;
  readonly routes: readonly string[];
  readonly methods: readonly string[];
  readonly clients: readonly number[];
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly rate: number | undefined;
  readonly token: string | undefined;
  /** Headers of every request by lower-case name, including the token. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
  readonly maxP99Ms: number;
  readonly maxErrorRate: number;
  readonly includeFramework: boolean;
}

/** Names an option in error messages; the command line uses `-c` instead of `clients`. */
export type NameOf = (option: keyof LoadTestOptions) => string;

const methods = ["GET", "POST", "PUT", "PATCH"];
const MOST_CLIENTS = 10_000;
const DAY_SECONDS = 86_400;

/**
 * Validates the options of a run.
 *
 * @throws LoadTestError ERR_SVC_LOAD_TEST_USAGE that names the option, what is allowed, and the given value
 */
export function resolveOptions(options: LoadTestOptions, nameOf: NameOf = (option) => option): Settings {
  const number = (
    option: keyof LoadTestOptions,
    least: number,
    most: number,
    preset: number,
    isWhole = false,
  ): number => {
    const value = options[option] ?? preset;
    if (isNumber(value, least, most, isWhole)) return value;
    throw refused(nameOf(option), `a ${isWhole ? "whole " : ""}number from ${range(least, most)}`, value);
  };
  const list = <T>(option: keyof LoadTestOptions, preset: readonly T[], allowed: string): readonly T[] => {
    const value: unknown = options[option] ?? preset;
    if (Array.isArray(value)) return value as readonly T[];
    throw refused(nameOf(option), `a list of ${allowed}`, value);
  };
  const { origin, prefix } = readUrl(options.url, nameOf("url"));
  const clients = list("clients", [1, 4, 16, 64], `whole numbers from ${range(1, MOST_CLIENTS)}`);
  if (clients.length === 0 || !clients.every((count) => isNumber(count, 1, MOST_CLIENTS, true)))
    throw refused(
      nameOf("clients"),
      `whole numbers from ${range(1, MOST_CLIENTS)}`,
      clients.map(String).join(),
    );
  const routes = list<string>("routes", [], "paths that begin with /");
  for (const route of routes) {
    if (typeof route !== "string" || !/^\/(?!\/)[^\s#\\]*$/.test(route))
      throw refused(nameOf("routes"), "a path that begins with /", route);
  }
  const chosen = list("methods", ["GET"], methods.join(", "));
  for (const method of chosen) {
    if (!methods.includes(method)) throw refused(nameOf("methods"), `one of ${methods.join(", ")}`, method);
  }
  const { token } = options;
  // The message must not contain the token.
  if (token !== undefined && (typeof token !== "string" || !/^[\x21-\x7e]{1,16384}$/.test(token)))
    throw usage(`${nameOf("token")} must be 1 to 16,384 visible ASCII characters`);
  const includeFramework: unknown = options.includeFramework ?? false;
  if (typeof includeFramework !== "boolean")
    throw refused(nameOf("includeFramework"), "true or false", includeFramework);
  checkObservers(options, nameOf);
  return {
    origin,
    prefix,
    routes,
    methods: [...new Set(chosen)],
    clients,
    seconds: number("seconds", 0.1, DAY_SECONDS, 10),
    warmUpSeconds: number("warmUpSeconds", 0, 3600, 1),
    rate: options.rate === undefined ? undefined : number("rate", 0.1, 1_000_000, 1),
    token,
    headers: headersOf(options.headers ?? [], token, {
      headers: nameOf("headers"),
      token: nameOf("token"),
    }),
    timeoutSeconds: number("timeoutSeconds", 0.1, 3600, 10),
    maxP99Ms: number("maxP99Ms", 0, 3_600_000, 500),
    maxErrorRate: number("maxErrorRate", 0, 100, 1),
    includeFramework,
  };
}

/** An invalid observer would otherwise fail in the middle of the run. */
function checkObservers({ signal, onProgress, onStep }: LoadTestOptions, nameOf: NameOf): void {
  if (isGiven(signal) && !(signal instanceof AbortSignal))
    throw refused(nameOf("signal"), "an AbortSignal", signal);
  for (const [option, observer] of Object.entries({ onProgress, onStep })) {
    if (isGiven(observer) && typeof observer !== "function")
      throw refused(nameOf(option as "onProgress" | "onStep"), "a function", observer);
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function readUrl(text: string, name: string): Pick<Settings, "origin" | "prefix"> {
  const url = URL.parse(text);
  const isPlain = url?.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (url === null || !/^https?:$/.test(url.protocol) || !isPlain) {
    // A URL with credentials must not be printed.
    const shown = url === null || isPlain ? text : `${url.protocol}//${url.host}`;
    throw refused(name, "an http:// or https:// URL without credentials, query and fragment", shown);
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, "") };
}

function isNumber(value: unknown, least: number, most: number, isWhole: boolean): value is number {
  if (typeof value !== "number" || !Number.isFinite(value)) return false;
  return value >= least && value <= most && (!isWhole || Number.isInteger(value));
}

function range(least: number, most: number): string {
  return `${least.toLocaleString("en")} to ${most.toLocaleString("en")}`;
}

function refused(name: string, allowed: string, value: unknown): LoadTestError {
  return usage(`${name} must be ${allowed}; got ${shown(value)}`);
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return "a list";
  if (typeof value === "function") return "a function";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

export function usage(message: string): LoadTestError {
  return new LoadTestError("ERR_SVC_LOAD_TEST_USAGE", message);
}
