import { type Draft, removeLine, setLine, type Mutation, utf8 } from "./draft.ts";
import type { Random } from "./random.ts";
import { randomBytes } from "./request-line-mutations.ts";

type Values = readonly string[];

const requestIds: Values = [
  "abc",
  "a".repeat(128),
  "a".repeat(129),
  "a".repeat(8000),
  "",
  " ",
  "a b",
  "a\tb",
  utf8("ünïcödé"),
  utf8("\u2028"),
  '{"level":"fatal"}',
  'a\\n{"level":"fatal"}',
  "../../etc/passwd",
  "${jndi:ldap://other.example/a}",
  "<script>",
  "%0d%0aSet-Cookie:%20a=b",
  '"',
  "\\",
  "\xff",
];
const traceparents: Values = [
  "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  "00-00000000000000000000000000000000-b7ad6b7169203331-01",
  "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
  "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
  "0".repeat(5000),
  "-".repeat(2000),
  "",
  utf8("é"),
];
const tracestates: Values = [
  "a=1,b=2",
  "a=1,".repeat(600),
  `a=${"x".repeat(3000)}`,
  ",,,,",
  "a==",
  "=".repeat(500),
  utf8("ä=1"),
];
const hosts: Values = [
  "",
  "a b",
  "[::",
  "user@other.example",
  "a:99999",
  "a/b",
  "a".repeat(300),
  "\xe4",
  "..",
  "localhost",
  "[::1]:80",
];
const others: readonly (readonly [name: string, values: Values])[] = [
  ["Accept", ["*/*", "text/html;q=0.0001,,,;", "*/*,".repeat(500), "\xff", 'a/b; q="\\"']],
  ["Accept-Encoding", ["gzip", "identity;q=0", "*;q=0", ",".repeat(2000)]],
  ["Authorization", ["Bearer", `Bearer ${"a".repeat(6000)}`, "Basic \xff", `Bearer${" ".repeat(5000)}x`]],
  ["Connection", ["upgrade", "close, keep-alive", "x-request-id", "keep-alive, ".repeat(200), '"close"']],
  [
    "Content-Type",
    ["", "application/json; charset=utf-16", "application/json;charset=\xff", "a/b/c", "text/plain", ";;;"],
  ],
  ["Content-Encoding", ["gzip", "br", "deflate, gzip", "nonsense", "gzip,gzip,gzip"]],
  ["Cookie", ["a=b", `${"a=b; ".repeat(1000)}`, "=;=;=", "__proto__=1"]],
  ["If-None-Match", ["*", 'W/"a"', '"', ",".repeat(3000)]],
  ["If-Modified-Since", ["Sat, 01 Jan 2000 00:00:00 GMT", "never", "-1"]],
  ["Range", ["bytes=0-0", "bytes=-", `bytes=${"0-1,".repeat(500)}`]],
  ["Origin", ["null", "https://other.example", "\xff"]],
  ["Upgrade", ["websocket", "h2c", "TLS/1.0, HTTP/1.1"]],
  ["HTTP2-Settings", ["AAMAAABkAARAAAAAAAIAAAAA"]],
  ["X-Forwarded-For", ["1.2.3.4", "not an address, 1.2.3.4", ",".repeat(1000)]],
  ["X-Forwarded-Proto", ["https", "https,http", "javascript"]],
  ["X-Forwarded-Host", ["other.example", "a b", "\xff"]],
  ["X-HTTP-Method-Override", ["DELETE", "\xff"]],
  ["__proto__", ["a"]],
  ["constructor", ["a"]],
  ["Trailer", ["Content-Length", "X-Request-ID"]],
  ["Max-Forwards", ["0", "-1"]],
];
const controlCharacters: Values = ["\0", "\x01", "\x08", "\x0b", "\x1b[31m", "\x7f", "\r", "\x1f"];
const badNames: Values = [
  "Bad Name: a",
  ": a",
  "Nothing",
  "N\0me: a",
  "N\xe4me: a",
  "Name : a",
  "(a): b",
  "a\x01: b",
  "@: c",
];
const expectations: Values = ["200-ok", "", "100 continue", "nonsense\xff"];

/** Returns the mutations of the header section. */
export function headerMutations(random: Random): readonly Mutation[] {
  const push = (make: () => string) => (draft: Draft) => void draft.lines.push(make());
  const header = (name: string, values: Values) => (draft: Draft) =>
    setLine(draft, name, random.pick(values));
  return [
    { name: "X-Request-ID", refused: false, apply: header("X-Request-ID", requestIds) },
    {
      name: "random X-Request-ID",
      refused: false,
      apply: (draft) => setLine(draft, "X-Request-ID", randomBytes(random, 0x21).replace("\x7f", "~")),
    },
    {
      name: "two X-Request-ID",
      refused: false,
      apply: (draft) => void draft.lines.push("X-Request-ID: a", "x-request-id: b"),
    },
    { name: "traceparent", refused: false, apply: header("traceparent", traceparents) },
    {
      name: "two traceparents",
      refused: false,
      apply: (draft) =>
        void draft.lines.push(`traceparent: ${traceparents[0]}`, `Traceparent: ${traceparents[0]}`),
    },
    {
      name: "tracestate",
      refused: false,
      apply(draft) {
        setLine(draft, "traceparent", traceparents[0] ?? "");
        setLine(draft, "tracestate", random.pick(tracestates));
      },
    },
    {
      name: "other header",
      refused: false,
      apply(draft) {
        const [name, values] = random.pick(others);
        setLine(draft, name, random.pick(values));
      },
    },
    { name: "odd Host", refused: false, apply: header("Host", hosts) },
    { name: "no Host", refused: true, apply: inVersion11((draft) => removeLine(draft, "Host")) },
    {
      name: "two Hosts",
      refused: true,
      apply: inVersion11((draft) => void draft.lines.push("Host: a", "host: b")),
    },
    {
      name: "control character in a value",
      refused: true,
      apply: push(() => `X-Value: a${random.pick(controlCharacters)}b`),
    },
    { name: "bad header name", refused: true, apply: push(() => random.pick(badNames)) },
    { name: "line of line feed alone", refused: true, apply: push(() => "X-One: a\nX-Two: b") },
    { name: "folded header", refused: true, apply: push(() => "X-Folded: a\r\n b") },
    {
      name: "space before the first header",
      refused: true,
      apply: (draft) => void draft.lines.unshift(" X-Odd: a"),
    },
    { name: "large header", refused: true, apply: push(() => `X-Large: ${"a".repeat(20_000)}`) },
    {
      name: "2,100 headers",
      refused: true,
      apply: (draft) => void draft.lines.push(...Array.from({ length: 2100 }, (_, i) => `X-${i}: abcdef`)),
    },
    {
      name: "1,000 short headers",
      refused: false,
      apply: (draft) => void draft.lines.push(...Array.from({ length: 1000 }, (_, i) => `x${i}:a`)),
    },
    { name: "bad Expect", refused: true, apply: inVersion11(header("Expect", expectations)) },
    {
      name: "Upgrade",
      refused: false,
      apply(draft) {
        draft.lines.push("Connection: Upgrade", `Upgrade: ${random.pick(["websocket", "h2c", "\xff"])}`);
      },
    },
  ];
}

// HTTP/1.0 ignores these headers, so set the version to 1.1.
function inVersion11(apply: (draft: Draft) => void): (draft: Draft) => void {
  return (draft) => {
    draft.version = "HTTP/1.1";
    apply(draft);
  };
}
