import { type Draft, setLine, type Mutation, utf8, withBody, withChunks } from "./draft.ts";
import type { Random } from "./random.ts";

type Values = readonly string[];

const fineJson: Values = [
  "{}",
  "[]",
  '{"a":1}',
  '{"a":"\\u0000\\ud800"}',
  '{"a":1e308,"a":-0}',
  utf8('{"ä":"\u2028"}'),
  " [1] ",
];
const badJson: Values = [
  "{",
  "}",
  "[1,]",
  "{'a':1}",
  "NaN",
  '{"a":1}{"b":2}',
  '{"a":"\x01"}',
  "\0",
  '{"a":\\u0031}',
  '"text"',
  "null",
  "\xef\xbb\xbf",
  '{"a":"\xff\xfe"}',
  '{"\xc3\x28":1}',
  "\xed\xa0\x80",
  '{\0"\0a\0',
  "[".repeat(101) + "]".repeat(101),
  "[".repeat(5000),
  '{"a":'.repeat(4000) + "1" + "}".repeat(4000),
  '{"__proto__":{"polluted":true}}',
  '{"a":[{"__proto__":1}]}',
  '{"constructor":{"prototype":{"polluted":true}}}',
];
const badLengths: Values = ["-1", "+2", "0x2", "2,2", "2 2", "1e1", "9".repeat(30), "", "\xb2", "2\0"];
const badChunks: Values = [
  "zz\r\n{}\r\n0\r\n\r\n",
  "-2\r\n{}\r\n0\r\n\r\n",
  "0x2\r\n{}\r\n0\r\n\r\n",
  `${"f".repeat(17)}\r\n{}`,
  "2\r\n{}X\r\n0\r\n\r\n",
  " 2\r\n{}\r\n0\r\n\r\n",
  "2\n{}\n0\n\n",
  "\r\n2\r\n{}\r\n0\r\n\r\n",
  `2;${"x".repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
];
const smuggled = "GET /things/smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
const badCodings: Values = [
  "xchunked",
  "chunked, identity",
  "chunked, gzip",
  "chunked\0",
  "chunked,",
  "chunked chunked",
  " , chunked",
];

const noiseBehind = "invalid bytes after a request without a response so far: the connection is cut";
const behindTheLast =
  "more bytes after a request with Connection: close without a response so far: the connection is cut";

/** Returns the mutations of body and framing. `maxBody` is the largest body in bytes that the service accepts. */
export function bodyMutations(random: Random, maxBody: number): readonly Mutation[] {
  return [
    { name: "JSON", refused: false, apply: (draft) => withBody(draft, random.pick(fineJson)) },
    { name: "bad JSON", refused: true, apply: (draft) => forThings(draft, random.pick(badJson)) },
    {
      name: "not JSON",
      refused: true,
      apply: (draft) =>
        forThings(
          draft,
          "a=1",
          random.pick(["text/plain", "application/x-www-form-urlencoded", "a", "", "\xff"]),
        ),
    },
    {
      name: "unknown charset",
      refused: true,
      apply: (draft) =>
        forThings(
          draft,
          "{}",
          `application/json; charset=${random.pick(["utf-16", "latin1", "x\xff", "utf-7"])}`,
        ),
    },
    {
      name: "compressed nonsense",
      refused: true,
      apply(draft) {
        forThings(draft, random.pick(["\x1f\x8b\x08\0\0", "nonsense", '{"a":1}']));
        setLine(draft, "Content-Encoding", random.pick(["gzip", "br", "deflate", "nonsense", "gzip, gzip"]));
      },
    },
    { name: "large body", refused: true, apply: (draft) => forThings(draft, `"${"a".repeat(maxBody)}"`) },
    {
      name: "large chunked body",
      refused: true,
      apply(draft) {
        forThings(draft, "");
        const size = maxBody + 1;
        withChunks(draft, `${size.toString(16)}\r\n${"[".repeat(size)}\r\n0\r\n\r\n`);
      },
    },
    {
      name: "chunks",
      refused: false,
      apply: (draft) => withChunks(draft, "2;a=b\r\n{}\r\n0\r\nX-Trailer: a\r\n\r\n"),
    },
    {
      name: "bad chunks",
      refused: true,
      apply(draft) {
        forThings(draft, "");
        withChunks(draft, random.pick(badChunks));
      },
    },
    {
      name: "length and chunked",
      refused: true,
      apply(draft) {
        forThings(draft, `0\r\n\r\n${smuggled}`);
        draft.lines.push("Transfer-Encoding: chunked");
      },
    },
    {
      name: "two lengths",
      refused: true,
      apply(draft) {
        forThings(draft, "{}");
        draft.lines.push(`Content-Length: ${random.pick(["0", "2", "3", "40"])}`);
      },
    },
    {
      name: "bad length",
      refused: true,
      apply(draft) {
        forThings(draft, "{}");
        setLine(draft, "Content-Length", random.pick(badLengths));
      },
    },
    {
      name: "bad transfer coding",
      refused: true,
      apply(draft) {
        forThings(draft, "");
        withChunks(draft, "2\r\n{}\r\n0\r\n\r\n");
        setLine(draft, "Transfer-Encoding", random.pick(badCodings));
      },
    },
    {
      name: "body that does not come",
      refused: true,
      apply(draft) {
        forThings(draft, "{}");
        setLine(draft, "Content-Length", "40");
      },
    },
    {
      name: "100-continue",
      refused: false,
      apply(draft) {
        withBody(draft, "{}");
        setLine(draft, "Expect", "100-continue");
      },
    },
    {
      name: "second request behind",
      refused: false,
      unanswered: behindTheLast,
      apply: (draft) => void (draft.behind = smuggled),
    },
    {
      name: "noise behind",
      refused: false,
      unanswered: noiseBehind,
      apply: (draft) =>
        void (draft.behind = random.pick([
          "nonsense\r\n\r\n",
          "\0",
          "{}",
          "GET / HTTP/9.9\r\n\r\n",
          "\xff\xff",
        ])),
    },
  ];
}

/** Sends the body to `/things`, the route that reads it: other routes may ignore a body. */
function forThings(draft: Draft, body: string, type?: string): void {
  draft.method = "POST";
  draft.target = "/things";
  withBody(draft, body, type);
}
