import type { Random } from "./random.ts";
import type { Draft, Mutation } from "./draft.ts";

type Values = readonly string[];

const otherMethods: Values = [
  "HEAD",
  "PUT",
  "DELETE",
  "PATCH",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
  "PURGE",
  "CONNECT",
  "QUERY",
];
const noMethods: Values = [
  "FOO",
  "get",
  "",
  "G\0T",
  "G T",
  "GET\t",
  "\x16\x03\x01",
  "P\xd6ST",
  "GETGET",
  "HTTP/1.1",
];
const oddTargets: Values = [
  "/",
  "*",
  "http://other.example/things/1",
  "http://user:secret@other.example:99999/things/1",
  "//other.example/things/1",
  "/things//1",
  "/things/%2F..%2f..%2fetc",
  "/../../things/1",
  "/things/1?x[__proto__][y]=1&a[]=1&a=2&constructor.prototype=1",
  `/things/1?${"a=1&".repeat(1500)}`,
  `/things/${"a".repeat(3000)}`,
  "/things/1#part",
  "/things/1;a=b",
  "/THINGS/1/",
  "/health",
  "/health/",
  "/ready?x",
  "/info",
  "/metrics",
  "/things/%00",
  "/things/%0d%0aX-Injected:%201",
  "/things/%e2%80%a8",
  "/things/%1b[31m",
  "/nowhere",
  "/things/<script>alert(1)</script>",
  "/things/1?q=%E0%A4%A",
];
const badTargets: Values = [
  "",
  "things/1",
  "/things/\x01",
  "/things/\0",
  "/things/\x7f",
  "/things/a b",
  "/things/\t",
  "\\things\\1",
  "http://",
  `/things/${"a".repeat(20_000)}`,
];
const badEscapes: Values = [
  "/things/%",
  "/things/%zz",
  "/things/%c3%28",
  "/things/%ff",
  "/things/%u0041",
  "/things/%e2%80",
];
const oddVersions: Values = ["HTTP/1.0", "HTTP/0.9", "HTTP/2.0"];
const badVersions: Values = [
  "HTTP/1.2",
  "HTTP/9.9",
  "http/1.1",
  "HTTP/1",
  "HTTP/1.1 ",
  "HTTPS/1.1",
  "",
  "HTTP/1.1\x01",
  "HTTP/\0.1",
];

/** Returns the mutations of the request line: method, target and version. */
export function requestLineMutations(random: Random): readonly Mutation[] {
  const set = (part: "method" | "target" | "version", values: Values) => (draft: Draft) => {
    draft[part] = random.pick(values);
  };
  return [
    { name: "other method", refused: false, apply: set("method", otherMethods) },
    { name: "no method", refused: true, apply: set("method", noMethods) },
    { name: "odd target", refused: false, apply: set("target", oddTargets) },
    { name: "bad target", refused: true, apply: set("target", badTargets) },
    { name: "bad percent escape", refused: true, apply: set("target", badEscapes) },
    {
      name: "raw bytes in target",
      refused: false,
      apply: (draft) => void (draft.target += randomBytes(random, 128)),
    },
    { name: "odd version", refused: false, apply: set("version", oddVersions) },
    { name: "bad version", refused: true, apply: set("version", badVersions) },
    {
      name: "line breaks before",
      refused: false,
      apply: (draft) => void (draft.before = random.pick(["\r\n", "\n", "\r\n\r\n\r\n"])),
    },
    {
      name: "noise before",
      refused: true,
      apply: (draft) =>
        void (draft.before = `${random.pick(["\0", "\x80\x2e\x01", "<", "\xff\xf4\xff\xfd\x06"])}`),
    },
  ];
}

/** Returns 1 to 8 random bytes, each at least `lowest`. */
export function randomBytes(random: Random, lowest: number): string {
  const length = 1 + random.whole(8);
  return String.fromCharCode(...Array.from({ length }, () => lowest + random.whole(256 - lowest)));
}
