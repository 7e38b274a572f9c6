import type { SpanHook } from "@svc/context";
import { ConfigurationError, type Fault, fault, namesOf, withNames } from "@svc/options";
import {
  type GatewayOptions,
  gatewayOptions,
  type ResolvedRoute,
  type RouteOptions,
  routeOptions,
} from "./options.ts";
import { type Trust, trustOf } from "./trusted-proxies.ts";

/** The checked options of a gateway. */
export interface ResolvedGateway {
  readonly routes: readonly ResolvedRoute[];
  readonly trust: Trust | undefined;
  readonly span: SpanHook | undefined;
  readonly logger: GatewayOptions["logger"];
  readonly now: () => number;
}

interface NamedRoute {
  /** The name of the route in error messages, such as `plugin.gateway.routes.api`. */
  readonly at: string;
  readonly keyOf: (option: string) => string;
  readonly route: ResolvedRoute;
}

/** @throws ConfigurationError that lists the faults of all routes */
export function resolveGateway(given: GatewayOptions): ResolvedGateway {
  const { subject, of } = namesOf(given, gatewayOptions.subject);
  const { routes, trustedProxies, self, span, logger, now } = gatewayOptions.resolve(given);
  const faults: Fault[] = [];
  const at = of("routes");
  // In a file, the members of a route have the keys of the file.
  const keyOf = at === "routes" ? (option: string): string => option : fileKeyOf;
  const named: NamedRoute[] = [];
  for (const [name, options] of entriesOf(routes, at)) {
    const route = resolveRoute(options, (option) => `${name}.${keyOf(option)}`, subject, faults);
    if (route !== undefined) named.push({ at: name, keyOf, route });
  }
  faults.push(...faultsBetween(named), ...selfFaults(named, self));
  if (faults.length > 0) throw new ConfigurationError(subject, faults);
  const trust = trustedProxies && trustOf(trustedProxies);
  return { routes: named.map(({ route }) => route), trust, span, logger, now };
}

function entriesOf(
  routes: GatewayOptions["routes"],
  at: string,
): readonly (readonly [string, RouteOptions])[] {
  if (Array.isArray(routes)) return routes.map((each, index) => [`${at}[${index}]`, each as RouteOptions]);
  return Object.entries(routes).map(([name, each]) => [`${at}.${name}`, each as RouteOptions]);
}

function fileKeyOf(option: string): string {
  const { keys } = routeOptions;
  return Object.hasOwn(keys, option) ? keys[option as keyof typeof keys].key : option;
}

function resolveRoute(
  options: RouteOptions,
  of: (option: string) => string,
  subject: string,
  faults: Fault[],
): ResolvedRoute | undefined {
  try {
    return routeOptions.resolve(withNames(options, { subject, of }));
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    faults.push(...error.faults);
    return undefined;
  }
}

function* faultsBetween(named: readonly NamedRoute[]): Generator<Fault> {
  const first = new Map<string, string>();
  for (const { at, keyOf, route } of named) {
    const other = first.get(route.prefix);
    if (other === undefined) first.set(route.prefix, at);
    else
      yield fault(
        `${at}.${keyOf("prefix")}`,
        `is the same as that of ${other}; it is ${JSON.stringify(route.prefix)}`,
      );
  }
}

function* selfFaults(named: readonly NamedRoute[], self: readonly string[]): Generator<Fault> {
  const own = new Set(self.map((origin) => new URL(origin).origin));
  for (const { at, keyOf, route } of named) {
    if (route.targets.some((target) => own.has(new URL(target).origin))) {
      yield fault(
        `${at}.${keyOf("targets")}`,
        "must not contain this service itself, which would call itself without end",
      );
    }
  }
}
