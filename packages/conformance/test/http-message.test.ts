import { expect } from "chai";
import type { Answer } from "../src/answer.ts";
import { AnswerReader } from "../src/http-message.ts";
import { MalformedAnswer } from "../src/http-body.ts";

/** Feeds bytes to the reader in pieces of one size. */
function read(bytes: string, piece = Infinity, { isHead = false, ended = true } = {}): Answer | undefined {
  const reader = new AnswerReader(isHead);
  const all = Buffer.from(bytes, "latin1");
  for (let at = 0; at < all.length; at += Math.min(piece, all.length)) {
    reader.add(all.subarray(at, at + Math.min(piece, all.length)));
  }
  return reader.read(ended, 0);
}

const ok = "HTTP/1.1 200 OK\r\n";
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;

describe("AnswerReader", () => {
  const answers: Readonly<Record<string, readonly [bytes: string, body: string]>> = {
    "with a length": [`${ok}content-length: 5\r\n\r\nhello`, "hello"],
    "of HTTP/1.0 that ends with the connection": ["HTTP/1.0 200\r\nServer: old\r\n\r\nhello", "hello"],
    "in chunks": [`${chunked}3;name=value\r\nhel\r\n0002\r\nlo\r\n0\r\nTrailer: x\r\n\r\n`, "hello"],
    "behind 100 and 103": [
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${ok}Content-Length: 5\r\n\r\nhello`,
      "hello",
    ],
  };
  for (const [what, [bytes, body]] of Object.entries(answers)) {
    for (const piece of [1, 2, 7, Infinity]) {
      it(`reads an answer ${what}, ${piece} bytes at a time`, () => {
        const answer = read(bytes, piece);
        expect(answer?.status).to.equal(200);
        expect(answer?.text).to.equal(body);
      });
    }
  }

  it("waits for the end of an incomplete answer", () => {
    for (const bytes of ["", ok, `${ok}Content-Length: 5\r\n\r\nhell`, `${chunked}5\r\nhello\r\n`]) {
      expect(read(bytes, 3, { ended: false })).to.equal(undefined);
    }
  });

  it("expects no body after HEAD, 204 and 304", () => {
    expect(read(`${ok}Content-Length: 5\r\n\r\n`, 9, { isHead: true, ended: false })?.text).to.equal("");
    for (const status of [204, 304]) {
      expect(read(`HTTP/1.1 ${status} x\r\n\r\n`, 9, { ended: false })?.status).to.equal(status);
    }
  });

  const malformed: Readonly<Record<string, readonly [bytes: string, message: RegExp]>> = {
    "a negative chunk size": [`${chunked}-8\r\n5\r\nabcde\r\n-d\r\n`, /without a size/],
    "a chunk size without an end": [`${chunked}${"1".repeat(2000)}`, /without a size/],
    "a chunk size beyond the safe integers": [`${chunked}fffffffffffffffff\r\n`, /without a size/],
    "an end within a chunk": [`${chunked}5\r\nhel`, /within a chunked body/],
    "a length that is not a number": [`${ok}Content-Length: -5\r\n\r\nhello`, /not a number/],
    "an end before the length": [`${ok}Content-Length: 9\r\n\r\nhello`, /5 bytes, announced as 9/],
    "an end within the headers": [`${ok}Content-Le`, /within the headers/],
    "another protocol": ["SSH-2.0-x\r\n\r\n", /not HTTP/],
    "headers without an end": [`${ok}X: ${"x".repeat(300_000)}`, /more than 256 KiB/],
    "a body of more than 8 MiB": [`${ok}Content-Length: 9000000\r\n\r\n${"x".repeat(8_400_000)}`, /8 MiB/],
    "an endless series of 100": ["HTTP/1.1 100 Continue\r\n\r\n".repeat(400_000), /8 MiB/],
  };
  for (const [what, [bytes, message]] of Object.entries(malformed)) {
    it(`rejects ${what}`, () => {
      expect(() => read(bytes, 65_536)).to.throw(MalformedAnswer, message);
    });
  }
});
