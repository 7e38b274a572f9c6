/** The features that a service can declare. */
export const features = [
  "auth",
  "tenancy",
  "metrics",
  "telemetry",
  "gateway",
  "openapi",
  "rate_limit",
  "cors",
  "trusted_hosts",
  "security_headers",
] as const;

/** A feature that the service declares. Checks of undeclared features are not applicable. */
export type Feature = (typeof features)[number];

/** The signature algorithms, in groups that one key supports. */
export const algorithmGroups = [
  ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ["ES256"],
  ["ES384"],
  ["ES512"],
  ["EdDSA"],
  ["HS256", "HS384", "HS512"],
] as const;

export const algorithms = algorithmGroups.flat();

export type Algorithm = (typeof algorithms)[number];

/** A request: `"/path"`, `"POST /path"`, or an object. */
export type Probe =
  | string
  | {
      readonly method?: string | undefined;
      readonly path: string;
      readonly headers?: Readonly<Record<string, string>> | undefined;
      /** The request body, sent as JSON. */
      readonly body?: unknown;
    };
