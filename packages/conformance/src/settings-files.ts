import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isObject } from "./answer.ts";
import { InvalidUse } from "./faults.ts";
import type { ConformanceOptions, Keys, Limits, Probes, TenancySettings } from "./options.ts";

type Kind = "text" | "number" | "boolean" | "texts" | "any";
type Shape = Readonly<Record<string, Kind>>;

const keysShape: Shape = {
  algorithm: "text",
  algorithms: "texts",
  secret: "text",
  private_key: "any",
  private_key_file: "text",
  kid: "text",
  issuer: "text",
  audience: "text",
  leeway: "number",
  subject: "text",
  scope_claim: "text",
  roles_claim: "text",
  tenant_claim: "text",
  tenant: "text",
  scopes: "texts",
  roles: "texts",
};

const probesShape: Shape = Object.fromEntries(
  [
    "open",
    "protected",
    "scoped",
    "role",
    "mixed",
    "tenant",
    "requested_tenant",
    "failing",
    "json",
    "invalid",
    "templated",
    "html",
    "outbound",
    "slow",
    "streaming",
    "dependencies",
    "session",
    "federated",
    "tenancy",
    "limits",
    "features",
  ].map((name) => [name, "any"]),
);

const tenancyShape: Shape = {
  sources: "texts",
  base_domain: "text",
  path_prefix: "text",
  require_tenant: "boolean",
  trust_unscoped_principals: "boolean",
  tenants: "texts",
};

const limitsShape: Shape = {
  max_body_bytes: "number",
  request_timeout_seconds: "number",
  readiness_timeout_seconds: "number",
};

const algorithms = /^(?:RS|PS|ES|HS)(?:256|384|512)$|^EdDSA$/;

/** Reads the file of `--keys`. @throws InvalidUse, which never contains a secret */
export async function readKeys(path: string): Promise<Keys> {
  const { private_key_file: file, ...given } = await readShape(path, "", keysShape);
  if (typeof given["algorithm"] !== "string" || !algorithms.test(given["algorithm"])) {
    throw new InvalidUse([`${path}: algorithm: is needed: RS256, ES256, EdDSA, HS256 and so on`]);
  }
  const keys = camel(given) as unknown as Keys;
  if (typeof file !== "string") return keys;
  const privateKey = await readText(resolve(dirname(path), file));
  return { ...keys, privateKey };
}

/** The content of the file of `--probes`. */
export type ProbesFile = Pick<ConformanceOptions, "probes" | "tenancy" | "limits" | "features">;

/** Reads the file of `--probes`. @throws InvalidUse */
export async function readProbes(path: string): Promise<ProbesFile> {
  const { tenancy, limits, features, ...probes } = await readShape(path, "", probesShape);
  const inner = Object.entries(probes).map(([name, probe]) => {
    const own = isObject(probe) ? camel(probe) : probe;
    const store: unknown = isObject(own) ? own["store"] : undefined;
    return [name, isObject(own) && isObject(store) ? { ...own, store: camel(store) } : own];
  });
  return {
    probes: camel(Object.fromEntries(inner) as Readonly<Record<string, unknown>>) as Probes,
    ...(tenancy === undefined
      ? {}
      : { tenancy: camel(checked(path, "tenancy.", tenancyShape, tenancy)) as TenancySettings }),
    ...(limits === undefined
      ? {}
      : { limits: camel(checked(path, "limits.", limitsShape, limits)) as Limits }),
    ...(features === undefined ? {} : { features: features as NonNullable<ConformanceOptions["features"]> }),
  };
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch {
    throw new InvalidUse([`${path}: cannot be read`]);
  }
}

async function readShape(path: string, at: string, shape: Shape): Promise<Record<string, unknown>> {
  const text = await readText(path);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which may contain a secret.
    throw new InvalidUse([`${path}: is not JSON`]);
  }
  return checked(path, at, shape, value);
}

function checked(path: string, at: string, shape: Shape, value: unknown): Record<string, unknown> {
  if (!isObject(value)) throw new InvalidUse([`${path}: ${at || "the file "}is not an object`]);
  const faults = Object.entries(value).flatMap(([key, each]) => {
    const kind = shape[key];
    if (kind === undefined)
      return [`${path}: ${at}${key}: is unknown; known are ${Object.keys(shape).join(", ")}`];
    return fits(each, kind) ? [] : [`${path}: ${at}${key}: must be ${said[kind]}`];
  });
  if (faults.length > 0) throw new InvalidUse(faults);
  return value;
}

const said: Readonly<Record<Kind, string>> = {
  text: "a text",
  number: "a number",
  boolean: "true or false",
  texts: "a list of texts",
  any: "something",
};

function fits(value: unknown, kind: Kind): boolean {
  if (kind === "any") return value !== null;
  if (kind === "texts") return Array.isArray(value) && value.every((each) => typeof each === "string");
  return typeof value === (kind === "text" ? "string" : kind);
}

/** Renames keys of the files to option names. */
function camel(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase()),
      each,
    ]),
  );
}
