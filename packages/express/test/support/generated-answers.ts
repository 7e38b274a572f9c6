import { Readable } from "node:stream";
import type { Request, Response } from "express";
import fc from "fast-check";
import { anyCharacter } from "@svc/test-support/any-character";

/** One request, and how its handler answers. */
export interface Answer {
  readonly method: string;
  readonly conditions: Conditions;
  readonly accept: string | undefined;
  readonly status: number | undefined;
  readonly presets: readonly (readonly [name: string, value: string])[];
  readonly value: (res: Response) => unknown;
  readonly how: How;
}

/** Conditional headers of a request. `etag` makes a header value from the ETag of the unconditional answer. */
export interface Conditions {
  readonly etag?: ((known: string) => string) | undefined;
  readonly modifiedSince?: string | undefined;
  readonly cacheControl?: string | undefined;
}

type How = (res: Response, value: unknown, req: Request) => void;

const monday = "Mon, 05 Jan 2026 08:00:00 GMT";
const tuesday = "Tue, 06 Jan 2026 08:00:00 GMT";

const oftenNone = <T>(...others: readonly T[]): fc.Arbitrary<T | undefined> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: fc.constantFrom(...others) },
  );

const circular: Record<string, unknown> = {};
circular["self"] = circular;

const fixed: readonly unknown[] = [
  undefined,
  null,
  true,
  false,
  0,
  -0,
  Number.NaN,
  404,
  "",
  "plain",
  "grün ✓ 日本 \u{1f600} \ud800",
  "<script>&</script>\u2028",
  [],
  {},
  { a: undefined, b: [undefined, () => 1] },
  "a".repeat(999),
  "a".repeat(1000),
  "é".repeat(999),
  { big: "a".repeat(20_000) },
  { big: "ü".repeat(20_000) },
  new Date(0),
  Buffer.from("bytes \xff\0", "latin1"),
  Buffer.alloc(20_000, "b"),
  new Uint8Array([1, 2, 3]),
  Symbol.iterator,
  () => 1,
  10n,
  circular,
  { toJSON: () => undefined },
  { toJSON: () => ({ other: 1 }) },
  {
    toJSON(): never {
      throw new TypeError("no JSON of this");
    },
  },
  new Map([[1, 2]]),
];

/** Functions that return a value whose `toJSON()` changes the response that sends the value. */
const meddling: readonly ((res: Response) => unknown)[] = [
  (res) => ({ toJSON: () => (res.status(201), { late: true }) }),
  (res) => ({ toJSON: () => (res.setHeader("ETag", '"late"'), { late: true }) }),
  (res) => ({ toJSON: () => (res.type("text/plain"), { late: true }) }),
];

const value: fc.Arbitrary<(res: Response) => unknown> = fc.oneof(
  { weight: 6, arbitrary: fc.jsonValue({ maxDepth: 3 }).map((each) => () => each) },
  {
    weight: 2,
    arbitrary: fc.string({ unit: anyCharacter, maxLength: 1200 }).map((text) => () => ({ text })),
  },
  { weight: 4, arbitrary: fc.constantFrom(...fixed).map((each) => () => each) },
  { weight: 1, arbitrary: fc.constantFrom(...meddling) },
);

type Loose = Record<string, (...args: unknown[]) => Response>;
const loose = (res: Response): Loose => res as unknown as Loose;

/** Wraps a number in an object, because some signatures of Express 4 treat a number as a status. */
function noNumber(body: unknown): unknown {
  return typeof body === "number" ? { body } : body;
}

const ways: readonly How[] = [
  (res, body) => void res.send(noNumber(body)),
  (res) => void loose(res)["send"]?.(404),
  (res, body) => void res.jsonp(body),
  (res, body) => void loose(res)["json"]?.(201, noNumber(body)),
  (res, body) => void loose(res)["json"]?.(noNumber(body), 202),
  (res) => void loose(res)["json"]?.(),
  (res, body) => void res.status(200).json(body),
  (res, body) => void res.status(203).json(body),
  (res, body) => void res.type("application/problem+json").json(body),
  (res, body) => void res.set("etag", 'W/"own"').json(body),
  (res, body) => void res.set("Last-Modified", monday).json(body),
  (res, body) => void setImmediate(() => answerLate(res, body)),
  (res, body) => {
    res.locals["body"] = body;
    res.json({ locals: Object.keys(res.locals), names: res.getHeaderNames() });
  },
  (res, body) =>
    void res.format({
      json: () => res.json(body),
      html: () => res.send("<p>page</p>"),
      text: () => res.send("text"),
    }),
  (res) => void res.sendStatus(res.statusCode),
  (res) => res.redirect("/elsewhere"),
  (res) => void res.end("a text with é"),
  (res) => void res.end(Buffer.from("bytes with é")),
  (res) => {
    res.write("one ");
    res.end("two");
  },
  (res) => void Readable.from(["a", Buffer.from("b"), "é"]).pipe(res),
  (res, body) => {
    res.flushHeaders();
    answerLate(res, body);
  },
  (res, body) => {
    res.json(body);
    answerLate(res, { second: true });
  },
  (res, body) => void res.writeHead(200, { "X-Head": "1" }).end(JSON.stringify(body) ?? ""),
];

/**
 * Answers after the handler has returned or the headers were sent. No error handler can respond to an error then, so
 * this function catches it.
 */
function answerLate(res: Response, body: unknown): void {
  try {
    res.json(body);
  } catch (error) {
    if (!res.headersSent) res.status(500).setHeader("X-Error", (error as Error).name);
    if (!res.writableEnded) res.end();
  }
}

const presets = fc.subarray(
  [
    ["Content-Type", "application/vnd.api+json"],
    ["Content-Type", "text/plain; charset=utf-8"],
    ["content-type", "text/html; charset=iso-8859-1"],
    ["ETag", '"mine"'],
    ["Last-Modified", monday],
    ["Transfer-Encoding", "chunked"],
    ["X-Latin", "caf\xe9"],
    ["Cache-Control", "no-store"],
    ["Vary", "Accept"],
  ] as const,
  { maxLength: 2 },
);

const conditions: fc.Arbitrary<Conditions> = fc.record({
  etag: oftenNone(
    (known: string) => known,
    (known: string) => known.replace(/^W\//, ""),
    (known: string) => `W/${known}`,
    (known: string) => `"other" , ${known},W/"third"`,
    () => '"other"',
    () => "*",
    () => "",
  ),
  modifiedSince: oftenNone(monday, tuesday, "no date", ""),
  cacheControl: oftenNone("no-cache", "max-age=0", "max-age=0, no-cache"),
});

export const answers: fc.Arbitrary<Answer> = fc.record({
  method: fc.oneof(
    { weight: 4, arbitrary: fc.constant("GET") },
    { weight: 2, arbitrary: fc.constantFrom("HEAD", "POST", "PUT", "DELETE", "OPTIONS") },
  ),
  conditions: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: conditions }),
  accept: oftenNone("application/json", "text/html", "*/*", "image/png"),
  status: fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: fc.constantFrom(200, 201, 204, 205, 299, 304, 404, 500) },
  ),
  presets: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: presets }),
  value,
  how: fc.oneof(
    { weight: 3, arbitrary: fc.constant<How>((res, body) => void res.json(body)) },
    { weight: 2, arbitrary: fc.constantFrom(...ways) },
  ),
});
