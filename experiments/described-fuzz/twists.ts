import { deflateRawSync, gzipSync } from "node:zlib";
import type { Draft } from "./draft.ts";
import type { DescribedOperation } from "./document.ts";

/** One change of a request. */
export interface Twist {
  readonly name: string;
  /** @param draw a number that chooses among the variants of the twist */
  readonly apply: (draft: Draft, draw: number) => void;
}

const oddValues: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  "",
  "\0",
  "\ud800",
  "a".repeat(501),
  "a".repeat(70_000),
  "12.345",
  "1e5",
  "99999999999999999999",
  "2026-02-30T00:00:00Z",
  "2026-03-01",
  "0001-01-01T00:00:00Z",
  "9999-12-31T23:59:59Z",
  [],
  ["a", ["b"]],
  {},
  { a: { b: { c: {} } } },
  Array.from({ length: 2000 }, () => 1),
];
const oddTexts = [
  "",
  "%00",
  "%ff",
  "%zz",
  "-1",
  "0",
  "1e3",
  "0x10",
  "101",
  "true",
  "null",
  "2026-13",
  "a%20b",
  "%F0%9F%98%80",
  "a".repeat(3000),
];
const oddJsons = [
  "",
  "{",
  "null",
  "1",
  '"text"',
  "[]",
  "{}",
  '{"a":1}{"b":2}',
  "\ufeff{}",
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":{}}}',
  "[".repeat(200) + "]".repeat(200),
];
const otherBodies: readonly (readonly [type: string | undefined, text: string])[] = [
  ["text/csv", "category,amount,paid_at\nmeals,1.50,2026-03-01T12:00:00Z\n"],
  [
    "text/csv; charset=utf-8",
    'category,amount,paid_at,note\nmeals,x,y,"a\nb"\noffice,1,2026-03-01T12:00:00Z,\0\n',
  ],
  ["text/csv", "category;amount\n"],
  ["text/csv", 'category,amount,paid_at\n"open'],
  ["text/csv; charset=latin1", "category,amount,paid_at\n"],
  ["text/csv", ""],
  ["application/x-www-form-urlencoded", "email=a%40b.example&password=wrong&return_to=//evil.example"],
  ["application/x-www-form-urlencoded", "email=&password=%00"],
  ["application/json", '{"email":"clerk@acme.example","password":"wrong wrong wrong"}'],
  ["application/json", '{"email":1,"password":{}}'],
  ["application/json", "{"],
  ["application/json; charset=utf-16", "{}"],
  ["multipart/form-data; boundary=x", "--x--"],
  ["text/html", "<p>"],
  [undefined, "text"],
];

const all: readonly Twist[] = [
  { name: "no caller", apply: (draft) => void (draft.caller = "none") },
  { name: "malformed token", apply: (draft) => void (draft.caller = "malformed") },
  { name: "expired token", apply: (draft) => void (draft.caller = "expired") },
  { name: "token of a foreign key", apply: (draft) => void (draft.caller = "foreign key") },
  { name: "no scope", apply: (draft) => void (draft.caller = "no scope") },
  { name: "no tenant", apply: (draft) => void (draft.caller = "no tenant") },
  header("X-Tenant-ID", ["acme", "globex", "", "a".repeat(300), "../x", "%00"]),
  header("Host", ["globex.localhost", "acme.localhost", "localhost:1", "other.example", "a..b", "[::1]"]),
  header("X-Request-ID", ["", "mine-1", "a".repeat(200), "a b", "<script>"]),
  header("Accept", ["text/html", "text/plain", "application/xml;q=0.1", "*/*;q=0", "nonsense", ""]),
  header("If-None-Match", ["*", '"a"', 'W/"a"', "a"]),
  header("Range", ["bytes=0-0", "bytes=9-1", "lines=1"]),
  header("Origin", ["https://evil.example", "null", "http://localhost", "nonsense"]),
  header("Sec-Fetch-Site", ["same-origin", "cross-site"]),
  header("Cookie", ["access_token=x; refresh_token=y", "a", "a=%zz", "__proto__=1"]),
  header("Authorization", ["Basic YTpi", "Bearer", "bearer x y", "x".repeat(5000)]),
  header("Accept-Encoding", ["gzip", "identity;q=0", "nonsense"]),
  header("traceparent", ["00-0-0-0", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]),
  header("X-Forwarded-For", ["1.2.3.4", "nonsense, ::1"]),
  {
    name: "unknown query",
    apply: (draft, draw) =>
      void draft.query.push([
        pick(["a", "__proto__", "constructor", "a%5Bb%5D", "", "%zz", "%00"], draw),
        "1",
      ]),
  },
  {
    name: "HEAD",
    apply(draft) {
      if (draft.method === "GET") draft.method = "HEAD";
    },
  },
  {
    name: "other method",
    apply(draft, draw) {
      draft.method = pick(["PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"], draw);
      draft.isAddressed = false;
    },
  },
  {
    name: "slash at the end",
    apply(draft) {
      // OpenAPI treats this as another path, but routes of Express as the same one.
      if (draft.segments.at(-1) !== "") draft.segments.push("");
      draft.isAddressed = false;
    },
  },
  {
    name: "more segments",
    apply(draft, draw) {
      draft.segments.push(pick(["x", "%2e%2e", "%2F", "", "%zz"], draw), "x");
      draft.isAddressed = false;
    },
  },
];

const inQuery: readonly Twist[] = [
  {
    name: "odd value of the query",
    apply: (draft, draw) =>
      changeOne(draft.query, draw, ([name]) => [name, pick(oddTexts, Math.floor(draw / 7))] as const),
  },
  {
    name: "repeated name",
    apply(draft, draw) {
      const chosen = draft.query[draw % Math.max(1, draft.query.length)];
      if (chosen !== undefined) draft.query.push(chosen);
    },
  },
  { name: "no query", apply: (draft) => void (draft.query = []) },
];

const inPath: readonly Twist[] = [
  {
    name: "odd parameter of the path",
    apply(draft, draw) {
      // An empty value would change the path.
      const values = oddTexts.filter((each) => each !== "");
      draft.segments[1] = pick(values, draw);
    },
  },
];

const inBody: readonly Twist[] = [
  { name: "no body", apply: (draft) => void (draft.json = undefined) },
  {
    name: "missing member",
    apply: (draft, draw) =>
      withMembers(draft, (members) => {
        const name = pick(Object.keys(members), draw);
        delete members[name];
      }),
  },
  {
    name: "odd member",
    apply: (draft, draw) =>
      withMembers(draft, (members) => {
        members[pick(Object.keys(members), draw)] = pick(oddValues, Math.floor(draw / 7));
      }),
  },
  {
    name: "unknown member",
    apply: (draft, draw) =>
      withMembers(draft, (members) => {
        members[pick(["tenant", "id", "toString", "password", "", "\ud800"], draw)] = "x";
      }),
  },
  {
    name: "many unknown members",
    apply: (draft) =>
      withMembers(draft, (members) => void Array.from({ length: 300 }, (_, at) => (members[`m${at}`] = at))),
  },
  { name: "odd body", apply: (draft, draw) => void (draft.json = pick(oddValues, draw)) },
  { name: "odd JSON", apply: (draft, draw) => raw(draft, "application/json", pick(oddJsons, draw)) },
  {
    name: "other charset",
    apply: (draft, draw) =>
      raw(
        draft,
        `application/json; charset=${pick(["utf-16", "latin1", "utf-8", "x"], draw)}`,
        JSON.stringify(draft.json ?? null),
      ),
  },
  {
    name: "bytes that are not UTF-8",
    apply: (draft) => raw(draft, "application/json", Buffer.from('{"category":"\xff"}', "latin1")),
  },
  { name: "another type", apply: (draft, draw) => raw(draft, ...pick(otherBodies, draw)) },
  {
    name: "compressed body",
    apply(draft, draw) {
      const json = Buffer.from(JSON.stringify(draft.json ?? null));
      const [coding, bytes] = pick<readonly [string, Buffer]>(
        [
          ["gzip", gzipSync(json)],
          ["gzip", json],
          ["nonsense", json],
          ["deflate", deflateRawSync(json)],
        ],
        draw,
      );
      raw(draft, "application/json", bytes);
      draft.headers["Content-Encoding"] = coding;
    },
  },
];

const withoutBody: readonly Twist[] = [
  { name: "a body", apply: (draft, draw) => raw(draft, ...pick(otherBodies, draw)) },
];

/** Returns the twists of an operation. */
export function twistsFor({ body, method, parameters }: DescribedOperation): readonly Twist[] {
  const has = (place: string): boolean => parameters.some((each) => each.in === place);
  return [
    ...all,
    ...(has("query") ? repeated(inQuery, 4) : []),
    ...(has("path") ? repeated(inPath, 4) : []),
    ...(body === undefined ? repeated(withoutBody, method === "POST" ? 12 : 3) : repeated(inBody, 3)),
  ];
}

function repeated(twists: readonly Twist[], times: number): readonly Twist[] {
  return Array.from({ length: times }, () => twists).flat();
}

function header(name: string, values: readonly string[]): Twist {
  return { name: `odd ${name}`, apply: (draft, draw) => void (draft.headers[name] = pick(values, draw)) };
}

function raw(draft: Draft, type: string | undefined, content: string | Buffer): void {
  draft.raw = { type, bytes: Buffer.from(content as string) };
}

function withMembers(draft: Draft, change: (members: Record<string, unknown>) => void): void {
  const { json } = draft;
  if (typeof json === "object" && json !== null && Object.keys(json).length > 0)
    change(json as Record<string, unknown>);
}

function changeOne<T>(list: T[], draw: number, change: (value: T) => T): void {
  const at = draw % Math.max(1, list.length);
  const value = list[at];
  if (value !== undefined) list[at] = change(value);
}

function pick<T>(values: readonly T[], draw: number): T {
  return values[draw % values.length] as T;
}
