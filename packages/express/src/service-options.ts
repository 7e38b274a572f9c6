import type { Environment } from "@svc/config";
import type { Middleware, ReadinessCheck } from "@svc/context";
import {
  ConfigurationError,
  defineOptions,
  type Definition,
  type Fault,
  kinds as k,
  type OptionEntries,
  type OptionsOf,
  type ResolvedOptions,
} from "@svc/options";
import type { NotInferred } from "@svc/job-table";
import type { LineDestination } from "@svc/log";
import type { Schedules } from "@svc/scheduler";
import type { ServiceRollups } from "@svc/rollups/plugin";
import type { Express } from "express";
import type { AnyPlugin, CodeEntries } from "@svc/plugin";
import { builtInPlugins } from "./plugins/built-in.ts";
import { type OwnConnections, ownOptions, withOwnConnections } from "./own-options.ts";
import { codeObject, codeOptions, pluginKind, refuseNames } from "./plugins/code-options.ts";
import {
  type DefinedTasks,
  type KeysOf,
  type OwnPlugins,
  type QueuedBy,
  type Service,
  serviceMembers,
} from "./service.ts";
import {
  type JobCode,
  type JobDatabase,
  resolveJobCode,
  type ServiceJobs,
  type ServiceSubscribers,
} from "./service-jobs.ts";
import type { ErrorPage } from "./web/error-pages.ts";

type CodeIn<E extends OptionEntries> = OptionsOf<Definition<CodeEntries<E>>>;

/**
 * The options in code for `[plugin.auth]`. With `issue_tokens`, `revocation` must be a complete token store, because
 * sign-outs are written to it (ISS-5). The service does not stop the store.
 */
export type AuthCode = CodeIn<KeysOf<"auth">>;

/** The options in code for `[plugin.queue]`. */
export type QueueCode = CodeIn<KeysOf<"queue">>;

/** The options in code for `[plugin.openapi]`. */
export type OpenApiCode = CodeIn<KeysOf<"openapi">>;

/** The options in code for `[plugin.rag]`. */
export type RagCode = CodeIn<KeysOf<"rag">>;

/** The options in code for custom plugins, by plugin name. */
type CodeOf<P extends OwnPlugins> = {
  readonly [N in keyof P]?: OwnCode<CodeIn<P[N]["options"]["keys"]>, N> | undefined;
};

/** If an option has the plugin's own name, its value is the whole object. */
type OwnCode<C, N> = N extends keyof C ? C[N] : C;

/**
 * Options of {@link createService}. The TOML file contains the settings, which depend on the environment; these options
 * contain the code. The options of a custom plugin are under its name.
 */
export type ServiceOptions<
  P extends OwnPlugins = Record<never, never>,
  T extends DefinedTasks = DefinedTasks,
> = BuiltInOptions<P, T> & CodeOf<NotInferred<P>>;

/**
 * The options that belong to no plugin. Some types are not derived from the definition: `routes` and `plugins` depend
 * on the custom plugins, `queue` and `schedules` on the tasks, and derived types of handlers would check their parameters strictly.
 */
interface BuiltInOptions<P extends OwnPlugins, T extends DefinedTasks>
  extends
    OwnConnections,
    Omit<
      OptionsOf<typeof serviceOptions>,
      "routes" | "middleware" | "plugins" | "jobs" | "subscribers" | "schedules"
    > {
  /** Registers the application's routes. Called once, before the service starts. Default none. */
  readonly routes?: ((app: Express, service: Service<P, T>) => unknown) | undefined;
  /** Middleware that runs for every request, after the request id is set and before the routes. Default none. */
  readonly middleware?: readonly Middleware[] | undefined;
  /** Custom plugins; each is switched on by its name in `[plugins] enabled`. Default none. */
  readonly plugins?: P | undefined;
  /**
   * Handlers by task, `(payload, job, service) => ...`. Requires the plugin `queue`. Default none: this process runs no
   * jobs.
   */
  readonly jobs?: ServiceJobs<Service<P, T>> | undefined;
  /**
   * Subscribers by event type and name, `(event, job, service) => ...`; each call runs as a job. Requires the plugins
   * `events` and `queue`. Default none.
   */
  readonly subscribers?: ServiceSubscribers<Service<P, T>> | undefined;
  /**
   * Job schedules by name: `{ cron: "30 2 * * *", zone: "Europe/Berlin", task }` or `{ everySeconds: 60, task }`.
   * Requires the plugin `queue` and, if this process runs jobs, a handler in `jobs` for every task. Default none.
   */
  readonly schedules?: Schedules<QueuedBy<NotInferred<T>>> | undefined;
  /**
   * Authentication options that need code: the revocation store, a second location for tokens, the refresh hook, custom
   * keys, and handlers for sign-in with providers. Requires the plugin `auth`. Default none.
   */
  readonly auth?: AuthCode | undefined;
  /**
   * Options in code for the plugin `queue`: the guard of its page, and the tasks, which type `service.jobs` and `schedules`.
   * Default none.
   */
  readonly queue?:
    | (Omit<QueueCode, "guard" | "tasks"> & {
        readonly guard?: Middleware | undefined;
        readonly tasks?: T | undefined;
      })
    | undefined;
  /**
   * Options in code for the plugin `openapi`: more members of `info`, descriptions of tags, the cookie with the token, and
   * routes that are middleware. Default none.
   */
  readonly openapi?: OpenApiCode | undefined;
  /**
   * Options in code for the plugin `rag`: the function that embeds texts, its model's name, a pool that builds indexes.
   * Required with that plugin. Default none.
   */
  readonly rag?: RagCode | undefined;
  /**
   * The rollups by name: results of `defineRollup()`, or its options. If these have no `timeZone`, that of the file applies.
   * Requires the plugin `rollups`. Default none.
   */
  readonly rollups?: ServiceRollups | undefined;
}

/** A configuration in code, for tests and for services without a file. */
export interface InlineConfig {
  readonly toml: string;
}

const fileUrl: k.Kind<URL> = {
  expects: "a file URL",
  accepts: (value): value is URL => value instanceof URL,
};
const inline: k.Kind<InlineConfig> = {
  expects: "{ toml } with the content of a file",
  accepts: (value): value is InlineConfig =>
    typeof value === "object" && value !== null && "toml" in value && typeof value.toml === "string",
  members: ["toml"],
};

const serviceOptions = defineOptions("createService()", {
  /**
   * Path or URL of the TOML file, or `{ toml }` with its content. Default none: only the environment is read, and
   * `SVC_APP_NAME` sets the service's name.
   */
  config: { kind: k.optional(k.either(k.string(), k.either(fileUrl, inline))) },
  /** Environment variables by name. Default: the process's variables. */
  env: {
    kind: k.optional(k.secret(k.objectWith<Environment>("an object of environment variables"))),
  },
  /** `reduced`: no file and no plugins, only the environment (PROF-1). Default `full`. */
  profile: { kind: k.withDefault(k.oneOf("full", "reduced"), "full") },
  /**
   * The type of service (PROF-7): `api`; `web` for pages, forms and public files; `gateway` for a service whose main work is
   * the plugin `gateway`. The reduced profile has only `api` (PROF-6). Default `api`.
   */
  kind: { kind: k.withDefault(k.oneOf("api", "web", "gateway"), "api") },
  /**
   * Returns the HTML of the page for a problem, `(problem, req) => string`, possibly as a promise, within a second. Sent to
   * clients that prefer HTML to JSON; all others get the problem document. Requires kind `web`. Default none.
   */
  errorPage: { kind: k.optional(k.func<ErrorPage>()) },
  /**
   * Folder of the public files, as a path from the working directory or as a file URL. Requires kind `web`. Default
   * `public`, if this folder exists.
   */
  publicDir: { kind: k.optional(k.either(k.string(), fileUrl)) },
  /**
   * Seconds for which browsers and caches may use a public file without revalidating it; at most 31,536,000. Requires kind
   * `web`. Default 3,600.
   */
  publicMaxAgeSeconds: { kind: k.optional(k.integer({ min: 0, max: 31_536_000 })) },
  routes: { kind: k.optional(k.func<(app: Express, service: Service) => unknown>()) },
  plugins: { kind: k.withDefault(pluginKind, {}) },
  /** An Express application to build on, of either major version. Default a new one. */
  app: { kind: k.optional(k.objectWith<Express>("an Express application", "use", "set", "get")) },
  middleware: { kind: k.withDefault(k.listOf(k.func<Middleware>()), []) },
  jobs: { kind: k.optional(k.objectWith<ServiceJobs>("an object with a handler for every task")) },
  subscribers: {
    kind: k.optional(k.objectWith<ServiceSubscribers>("an object of subscribers by event type")),
  },
  schedules: { kind: k.optional(k.objectWith<Schedules>("an object of schedules by name")) },
  /**
   * Whether this process serves the application's requests (`server`), runs jobs (`worker`), or both. A worker still
   * serves `/health`, `/ready`, `/info` and `/metrics`, but does not use `routes` and `middleware`. Default `both`.
   */
  role: { kind: k.withDefault(k.oneOf("server", "worker", "both"), "both") },
  /**
   * The database for jobs and events: a `pg` pool or a database from `@svc/database`. The caller closes it after the
   * service has stopped. Default the database of the plugin `database`.
   */
  db: { kind: k.optional(k.objectWith<JobDatabase>("a pool or a database")) },
  /** The application's readiness checks. Default none. */
  checks: { kind: k.withDefault(k.listOf(k.objectWith<ReadinessCheck>("a readiness check", "check")), []) },
  ...ownOptions,
  /** Where log lines are written, for example `{ write(line) {} }`. Default standard output. */
  logDestination: { kind: k.optional(k.objectWith<LineDestination>("a destination", "write")) },
  /** Whether signals and uncaught errors in the process stop the service after it has started. Default true. */
  signals: { kind: k.withDefault(k.boolean(), true) },
});

type Resolved = ResolvedOptions<(typeof serviceOptions)["keys"]>;

/** The options with all defaults applied. */
export interface ResolvedServiceOptions extends Omit<
  Resolved,
  "plugins" | "jobs" | "subscribers" | "schedules" | "role" | "db"
> {
  /** The built-in plugins, followed by the custom ones. */
  readonly plugins: readonly AnyPlugin[];
  /** Returns the options that code sets for a plugin. */
  readonly codeOf: (plugin: AnyPlugin) => Readonly<Record<string, unknown>>;
  /** Names of the plugins that have options in code. */
  readonly withCode: readonly string[];
  readonly work: JobCode;
}

/** @throws ConfigurationError */
export function resolveServiceOptions(
  given: object | undefined,
  serviceOf: () => Service,
): ResolvedServiceOptions {
  const options: { readonly plugins?: unknown } = given ?? {};
  const { plugins: own = {} } = options;
  const plugins = [
    ...withOwnConnections(builtInPlugins, options),
    ...(pluginKind.accepts(own) ? Object.values(own) : []),
  ] as AnyPlugin[];
  const ofPlugins = Object.fromEntries(
    plugins.map((plugin) => [plugin.name, { kind: k.optional(codeObject(plugin)) }]),
  );
  const { subject, keys } = serviceOptions;
  // The service's own options come first where an error lists all names.
  const all = defineOptions(subject, {
    ...keys,
    ...ofPlugins,
    ...keys,
  }) as Definition as typeof serviceOptions;
  const { jobs, subscribers, schedules, role, db, ...resolved } = all.resolve(given);
  if (resolved.profile === "reduced") refuseInReduced(resolved);
  refuseNames(resolved.plugins, builtInPlugins, [...Object.keys(keys), ...serviceMembers]);
  const code = resolved as unknown as Readonly<Record<string, object | undefined>>;
  // Without any option in code, check only an enabled plugin, which may require one.
  const withCode = plugins.filter(({ name }) => code[name] !== undefined);
  const checked = new Map(withCode.map((plugin) => [plugin.name, codeOptions(plugin, code[plugin.name])]));
  const queue = checked.get("queue");
  return {
    ...resolved,
    plugins,
    codeOf: (plugin) => checked.get(plugin.name) ?? codeOptions(plugin, undefined),
    withCode: withCode.map(({ name }) => name),
    work: resolveJobCode({ jobs, subscribers, schedules, role, db }, queue, resolved.profile, serviceOf),
  };
}

function refuseInReduced({ config, kind }: Pick<Resolved, "config" | "kind">): void {
  const faults: Fault[] = [];
  if (config !== undefined) {
    const message =
      "is used only in the full profile; configure the reduced profile with environment variables";
    faults.push({ key: "config", message });
  }
  if (kind !== "api") {
    const message = `"${kind}" is available only in the full profile; the reduced profile has only the kind "api"`;
    faults.push({ key: "kind", message });
  }
  if (faults.length > 0) throw new ConfigurationError("createService()", faults);
}
