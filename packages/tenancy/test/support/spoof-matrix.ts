import type { TenantSource } from "@svc/tenancy";
import type { Asked } from "./ask.ts";

/** The granted tenant, or the status of the refusal. */
export type Expected = string | 401 | 403;

/** A request, with the expected result for each kind of caller. */
export interface Spoof extends Asked {
  readonly title: string;
  readonly sources: readonly TenantSource[];
  /** With authentication off. */
  readonly off: Expected;
  /** With authentication on, and no session. */
  readonly nobody: Expected;
  /** With a token of the tenant `acme`. */
  readonly acme: Expected;
  /** With a token without a tenant. */
  readonly unscoped: Expected;
  /** With a token without a tenant and `trustUnscopedPrincipals`. */
  readonly trusted: Expected;
}

type Row = Omit<Spoof, "off" | "nobody" | "acme" | "unscoped" | "trusted">;

const HOST = ["token", "subdomain"] as const;
const PATH = ["token", "path"] as const;
const HEADER = ["token", "header"] as const;
const ALL = ["token", "subdomain", "path", "header"] as const;

/** The request names no tenant. */
function none(row: Row): Spoof {
  return { ...row, off: 403, nobody: 401, acme: "acme", unscoped: 403, trusted: 403 };
}

/** The request names one tenant. */
function names(tenant: string, row: Row): Spoof {
  const acme = tenant === "acme" ? tenant : 403;
  return { ...row, off: tenant, nobody: 401, acme, unscoped: 403, trusted: tenant };
}

function host(value: string, ...more: readonly string[]): Pick<Spoof, "sources" | "lines"> {
  return { sources: HOST, lines: [`Host: ${value}`, ...more] };
}

const long = "a".repeat(63);

export const spoofs: readonly Spoof[] = [
  none({ title: "a request that names no tenant", sources: ALL }),

  none({ title: "an X-Tenant-ID that is not a source", sources: HOST, lines: ["X-Tenant-ID: globex"] }),
  none({
    title: "an X-Tenant-ID that is not a source, with the caller's own tenant",
    sources: HOST,
    lines: ["X-Tenant-ID: acme"],
  }),
  names("acme", {
    title: "X-Tenant-ID with the caller's own tenant",
    sources: HEADER,
    lines: ["X-Tenant-ID: acme"],
  }),
  names("globex", {
    title: "X-Tenant-ID with another tenant",
    sources: HEADER,
    lines: ["X-Tenant-ID: globex"],
  }),
  names("globex", { title: "x-tenant-id in lower case", sources: HEADER, lines: ["x-tenant-id: globex"] }),
  none({
    title: "X-Tenant-ID twice",
    sources: HEADER,
    lines: ["X-Tenant-ID: acme", "X-Tenant-ID: globex"],
  }),
  none({
    title: "X-Tenant-ID twice with the same tenant",
    sources: HEADER,
    lines: ["X-Tenant-ID: globex", "X-Tenant-ID: globex"],
  }),
  none({ title: "an empty X-Tenant-ID", sources: HEADER, lines: ["X-Tenant-ID:"] }),
  none({ title: "a tenant in capitals in X-Tenant-ID", sources: HEADER, lines: ["X-Tenant-ID: GLOBEX"] }),
  none({ title: "X-Tenant-ID with a list", sources: HEADER, lines: ["X-Tenant-ID: acme, globex"] }),
  none({ title: "X-Tenant-ID with Latin-1", sources: HEADER, lines: ["X-Tenant-ID: gl\u00f6bex"] }),
  none({ title: "X_Tenant_ID, as CGI would read it", sources: HEADER, lines: ["X_Tenant_ID: globex"] }),

  names("acme", { title: "the caller's own host", ...host("acme.example.com") }),
  names("globex", { title: "another tenant's host", ...host("globex.example.com") }),
  names("globex", { title: "a host in capitals", ...host("GLOBEX.Example.COM") }),
  names("globex", { title: "a host with a port", ...host("globex.example.com:8443") }),
  names("globex", { title: "a host with an empty port", ...host("globex.example.com:") }),
  names("globex", { title: "a host with a trailing dot", ...host("globex.example.com.") }),
  names("globex", { title: "a host with a trailing dot and a port", ...host("globex.example.com.:80") }),
  names(long, { title: "a label of 63 characters", ...host(`${long}.example.com`) }),
  names("xn--glbex-jua", { title: "an international label in ASCII", ...host("xn--glbex-jua.example.com") }),
  none({ title: "an international label in Latin-1", ...host("gl\u00f6bex.example.com") }),
  none({ title: "a host with two trailing dots", ...host("globex.example.com..") }),
  none({ title: "a host with an invalid port", ...host("globex.example.com:x") }),
  none({ title: "a host with two ports", ...host("globex.example.com:80:80") }),
  none({ title: "a label of 64 characters", ...host(`${long}a.example.com`) }),
  none({ title: "two labels", ...host("www.globex.example.com") }),
  none({ title: "an empty label", ...host(".example.com") }),
  none({ title: "a label that starts with a hyphen", ...host("-globex.example.com") }),
  none({ title: "a label with an underscore", ...host("glo_bex.example.com") }),
  none({ title: "a host with a user", ...host("acme@globex.example.com") }),
  none({ title: "a reserved label", ...host("www.example.com") }),
  none({ title: "a reserved label in capitals", ...host("API.example.com") }),
  none({ title: "the base domain", ...host("example.com") }),
  none({ title: "the base domain with port and dot", ...host("example.com.:8000") }),
  none({ title: "another domain", ...host("globex.example.org") }),
  none({ title: "a domain that ends like the base domain", ...host("globexexample.com") }),
  none({ title: "a domain that begins with a tenant's host", ...host("globex.example.com.evil.test") }),
  none({ title: "an IPv4 address", ...host("127.0.0.1:8000") }),
  none({ title: "an IPv6 address", ...host("[::1]:8000") }),
  none({ title: "an empty Host", ...host("") }),
  none({ title: "a request without Host", sources: HOST, version: "1.0" }),
  none({ title: "Host twice", ...host("acme.example.com", "Host: globex.example.com") }),
  none({ title: "X-Forwarded-Host alone", ...host("example.com", "X-Forwarded-Host: globex.example.com") }),
  names("acme", {
    title: "X-Forwarded-Host that differs from Host",
    ...host("acme.example.com", "X-Forwarded-Host: globex.example.com"),
  }),
  names("acme", {
    title: "Forwarded and X-Original-Host that differ from Host",
    ...host(
      "acme.example.com",
      "Forwarded: host=globex.example.com",
      "X-Original-Host: globex.example.com",
      "X-Host: globex.example.com",
    ),
  }),
  none({
    title: "a target whose host differs from Host",
    ...host("acme.example.com"),
    target: "http://globex.example.com/",
  }),
  names("globex", {
    title: "a target whose host equals Host",
    ...host("globex.example.com"),
    target: "http://GLOBEX.example.com/x",
  }),

  names("acme", { title: "the caller's own path", sources: PATH, target: "/t/acme/orders" }),
  names("globex", { title: "another tenant's path", sources: PATH, target: "/t/globex/orders" }),
  names("globex", { title: "a path that ends with the tenant", sources: PATH, target: "/t/globex" }),
  names("globex", { title: "a path with a query", sources: PATH, target: "/t/globex?/t/acme/" }),
  names("globex", { title: "a path with a fragment", sources: PATH, target: "/t/globex#/t/acme" }),
  names("globex", { title: "a prefix in capitals", sources: PATH, target: "/T/globex/orders" }),
  names("globex", { title: "a path in a whole URL", sources: PATH, target: "http://example.com/t/globex/" }),
  names("globex", {
    title: "a path in a URL of any scheme",
    sources: PATH,
    target: "abcdefghijk://h/t/globex/",
  }),
  names("globex", { title: "a path with backslashes", sources: PATH, target: "/t\\globex\\orders#" }),
  names("globex", { title: "a URL with backslashes", sources: PATH, target: "http://h/t\\globex\\orders" }),
  names(long, { title: "a segment of 63 characters", sources: PATH, target: `/t/${long}/x` }),
  none({ title: "a segment of 64 characters", sources: PATH, target: `/t/${long}a/x` }),
  none({ title: "a segment in capitals", sources: PATH, target: "/t/GLOBEX/orders" }),
  none({ title: "an encoded letter", sources: PATH, target: "/t/%67lobex/orders" }),
  none({ title: "an encoded slash before the tenant", sources: PATH, target: "/t%2fglobex/orders" }),
  none({ title: "an encoded slash after the tenant", sources: PATH, target: "/t/globex%2forders" }),
  none({ title: "a percent sign alone", sources: PATH, target: "/t/%/orders" }),
  none({ title: "a segment with matrix parameters", sources: PATH, target: "/t/globex;v=1/orders" }),
  none({ title: "two slashes before the prefix", sources: PATH, target: "//t/globex/orders" }),
  none({ title: "two slashes after the prefix", sources: PATH, target: "/t//globex/orders" }),
  none({ title: "dot segments", sources: PATH, target: "/t/../globex" }),
  none({ title: "a longer prefix", sources: PATH, target: "/tt/globex" }),
  none({ title: "the prefix alone", sources: PATH, target: "/t/" }),
  none({ title: "the prefix in the middle", sources: PATH, target: "/a/t/globex" }),
  none({ title: "a tenant's path in the query", sources: PATH, target: "/?/t/globex/" }),

  {
    title: "a host and a path that differ",
    ...host("acme.example.com"),
    sources: ALL,
    target: "/t/globex/orders",
    off: "acme",
    nobody: 401,
    acme: 403,
    unscoped: 403,
    trusted: 403,
  },
  {
    title: "a host and a header that differ",
    ...host("acme.example.com", "X-Tenant-ID: globex"),
    sources: ALL,
    off: "acme",
    nobody: 401,
    acme: 403,
    unscoped: 403,
    trusted: 403,
  },
  {
    title: "another tenant's host before the caller's own path",
    ...host("globex.example.com"),
    sources: ALL,
    target: "/t/acme/orders",
    off: "globex",
    nobody: 401,
    acme: 403,
    unscoped: 403,
    trusted: 403,
  },
  {
    title: "unsigned sources that differ and are listed before token",
    ...host("globex.example.com", "X-Tenant-ID: acme"),
    sources: ["header", "subdomain", "token"],
    off: "acme",
    nobody: 401,
    acme: 403,
    unscoped: 403,
    trusted: 403,
  },
  names("acme", {
    title: "host, path and header that agree",
    ...host("acme.example.com", "X-Tenant-ID: acme"),
    sources: ALL,
    target: "/t/acme/orders",
  }),
  names("globex", {
    title: "another tenant's host, with subdomain as the only source",
    ...host("globex.example.com"),
    sources: ["subdomain"],
  }),
  none({
    title: "another tenant's path and header, with subdomain as the only source",
    sources: ["subdomain"],
    target: "/t/globex/",
    lines: ["X-Tenant-ID: globex"],
  }),
];
