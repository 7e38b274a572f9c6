import { ConfigurationError } from "@svc/options";

/** What a service's ten ports are used for, by their offset from the base port (PORT-1, PORT-3). */
export const portOffsets = {
  http: 0,
  database: 1,
  /** Also for a connection pooler. */
  eventBus: 2,
  keyValue: 3,
  document: 4,
  metrics: 5,
  /** Also for a message broker. */
  dashboard: 6,
  vectorHttp: 7,
  vectorGrpc: 8,
  grpc: 9,
} as const;

/** A service's ten ports by use. */
export type Ports = { readonly [N in keyof typeof portOffsets]: number };

/** Highest base port that leaves ten ports below 65,536. */
export const highestBasePort = 65_526;

/**
 * Returns a service's ten consecutive ports (PORT-1, PORT-3).
 *
 * @param base the HTTP port, from 1 to 65,526
 * @throws ConfigurationError for any other base
 */
export function ports(base: number): Ports {
  if (!Number.isSafeInteger(base) || base < 1 || base > highestBasePort) {
    const message = `must be a whole number from 1 to ${highestBasePort}, because it is the first of ten ports; it is ${base}`;
    throw new ConfigurationError("ports()", [{ key: "base", message }]);
  }
  const block = Object.entries(portOffsets).map(([use, offset]) => [use, base + offset]);
  return Object.freeze(Object.fromEntries(block) as Ports);
}
