import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { type Answer, NoAnswer } from "../src/answer.ts";
import { AnswerReader } from "../src/answer-reader.ts";

/** Feeds bytes to a new reader in pieces of `piece` bytes, and returns the response. */
function read(bytes: string, piece = Infinity, { isHead = false, ended = true } = {}): Promise<Answer> {
  const reader = new AnswerReader(isHead, () => 0);
  const all = Buffer.from(bytes, "latin1");
  for (let at = 0; at < all.length; at += Math.min(piece, all.length)) {
    reader.add(all.subarray(at, at + Math.min(piece, all.length)));
  }
  if (ended) reader.end();
  return reader.answer;
}

const ok = "HTTP/1.1 200 OK\r\n";
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;

describe("AnswerReader", () => {
  const answers: Readonly<Record<string, readonly [bytes: string, body: string]>> = {
    "with a Content-Length": [`${ok}content-length: 5\r\n\r\nhello`, "hello"],
    "over HTTP/1.0 that ends when the connection closes": [
      "HTTP/1.0 200\r\nServer: old\r\n\r\nhello",
      "hello",
    ],
    "in chunks": [`${chunked}3;name=value\r\nhel\r\n0002\r\nlo\r\n0\r\nTrailer: x\r\n\r\n`, "hello"],
    "with further bytes after it": [`${ok}content-length: 5\r\n\r\nhello and more`, "hello"],
    "after informational responses (100 and 103)": [
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${ok}Content-Length: 5\r\n\r\nhello`,
      "hello",
    ],
  };
  for (const [what, [bytes, body]] of Object.entries(answers)) {
    for (const piece of [1, 2, 7, Infinity]) {
      it(`reads a response ${what}, ${piece} bytes at a time`, async () => {
        const answer = await read(bytes, piece);
        expect(answer.status).to.equal(200);
        expect(answer.text).to.equal(body);
      });
    }
  }

  it("waits for the end of an incomplete response", async () => {
    for (const bytes of ["", ok, `${ok}Content-Length: 5\r\n\r\nhell`, `${chunked}5\r\nhello\r\n`]) {
      const answer = await Promise.race([read(bytes, 3, { ended: false }), sleep(20)]);
      expect(answer).to.equal(undefined);
    }
  });

  it("keeps repeated headers and the bytes of their values", async () => {
    const { headers } = await read(`${ok}X-A: a\u0001\u00e9\r\nx-a: 2\r\nContent-Length: 0\r\n\r\n`);
    expect(headers).to.deep.equal([
      ["X-A", "a\u0001\u00e9"],
      ["x-a", "2"],
      ["Content-Length", "0"],
    ]);
  });

  it("completes a response to HEAD and a 204 or 304 response without a body", async () => {
    const head = await read(`${ok}Content-Length: 5\r\n\r\n`, 9, { isHead: true, ended: false });
    expect(head.text).to.equal("");
    for (const status of [204, 304]) {
      const answer = await read(`HTTP/1.1 ${status} x\r\n\r\n`, 9, { ended: false });
      expect(answer.status).to.equal(status);
    }
  });

  const malformed: Readonly<Record<string, readonly [bytes: string, message: RegExp]>> = {
    "a negative chunk size": [`${chunked}-8\r\n5\r\nabcde\r\n-d\r\n`, /without a size/],
    "an unterminated chunk size": [`${chunked}${"1".repeat(2000)}`, /without a size/],
    "a chunk size above the largest safe integer": [`${chunked}fffffffffffffffff\r\n`, /without a size/],
    "a response that ends within a chunk": [`${chunked}5\r\nhel`, /within a chunked body/],
    "a Content-Length that is not a number": [`${ok}Content-Length: -5\r\n\r\nhello`, /not a number/],
    "a response that ends before the announced length": [
      `${ok}Content-Length: 9\r\n\r\nhello`,
      /5 bytes, announced as 9/,
    ],
    "a response that ends within the headers": [`${ok}Content-Le`, /within the headers/],
    "another protocol": ["SSH-2.0-x\r\n\r\n", /not HTTP/],
    "unterminated headers": [`${ok}X: ${"x".repeat(300_000)}`, /more than 256 KiB/],
    "a body of more than 8 MiB": [`${ok}Content-Length: 9000000\r\n\r\n${"x".repeat(8_400_000)}`, /8 MiB/],
    "more than 8 MiB of 100 Continue responses": ["HTTP/1.1 100 Continue\r\n\r\n".repeat(400_000), /8 MiB/],
  };
  for (const [what, [bytes, message]] of Object.entries(malformed)) {
    it(`rejects ${what}`, async () => {
      const fault: unknown = await read(bytes, 65_536).catch((error: unknown) => error);
      expect(fault).to.be.instanceOf(NoAnswer).and.have.property("message").that.matches(message);
    });
  }
});
