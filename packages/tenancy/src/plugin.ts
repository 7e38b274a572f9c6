import type { IncomingMessage } from "node:http";
import { defineOptions, fileOptions, type Kind, listOf, string, withDefault } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import { tenancyOptions } from "./options.ts";
import type { TenantSource } from "./resolution.ts";

const { sources, baseDomain, pathPrefix, reservedSubdomains, exemptPaths } = tenancyOptions.keys;
const texts = listOf(string());
const path = string({ pattern: /^\//, expects: "a path that begins with /" });

// Check only the types, because the options of a disabled plugin are checked too; tenancy() checks the values.
const pluginOptions = defineOptions("[plugin.tenancy]", {
  ...fileOptions(tenancyOptions),
  sources: inFile(sources, texts as Kind<readonly TenantSource[]>),
  baseDomain: inFile(baseDomain, string({ allowEmpty: true })),
  pathPrefix: inFile(pathPrefix, path),
  reservedSubdomains: inFile(reservedSubdomains, texts),
  exemptPaths: inFile(exemptPaths, texts),
});

/**
 * Returns an option with a more lenient kind for `[plugin.tenancy]`. Its JSON Schema still describes the values that
 * tenancy() accepts.
 */
function inFile<O extends { readonly kind: { readonly fallback: T } & Kind<unknown> }, T>(
  option: O,
  kind: Kind<T>,
) {
  const { fallback, schema } = option.kind;
  return { ...option, kind: withDefault({ ...kind, schema }, fallback) };
}

/** `[plugin.tenancy]`: finds the tenant of each request (TEN-23). */
export const tenancyPlugin = definePlugin({
  name: "tenancy",
  uses: ["auth", "metrics"],
  options: pluginOptions,
  async start({ options, service: { env, behindProxies }, logger, isEnabled, systemPaths }) {
    const { tenancy } = await import("./tenancy.ts");
    const auth = isEnabled("auth");
    const middleware = tenancy({
      ...options,
      exemptPaths: [...systemPaths(), ...options.exemptPaths],
      hostOf: behindProxies ? forwardedHost : undefined,
      auth,
      env,
      logger,
    });
    if (!auth && options.sources.some((source) => source !== "token" && source !== "user")) {
      logger.warn(
        { sources: options.sources },
        "callers are not verified: any tenant that a request names is granted",
      );
    }
    return { identity: middleware, info: { sources: [...options.sources] } };
  },
});

/** The properties of an Express request that determine the forwarded host. */
interface ProxiedRequest extends IncomingMessage {
  readonly app: { get(setting: string): unknown };
  readonly ips: readonly string[];
}

type Trust = (address: string | undefined, hop: number) => boolean;

/**
 * Returns the host name that the outermost trusted proxy received, or the header `Host` if there is no trusted proxy.
 * Express's `hostname` is the first of several values, which a client may have sent to a proxy that appends its own value.
 */
function forwardedHost(req: IncomingMessage): string | undefined {
  const { app, headers, ips, socket } = req as ProxiedRequest;
  const said = headers["x-forwarded-host"];
  const isTrusted = app.get("trust proxy fn") as Trust;
  if (said === undefined || said === "" || !isTrusted(socket.remoteAddress, 0)) return headers.host;
  const hosts = String(said).split(",");
  // Every trusted proxy has appended a value, or the last one has replaced all values.
  const proxies = Math.max(1, ips.length);
  return hosts[Math.max(0, hosts.length - proxies)]?.trim();
}
