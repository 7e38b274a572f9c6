import { expect } from "chai";
import { problemFault, readAnswers } from "../harness/answers.ts";

const read = (text: string, { toHead = false, closed = true } = {}): ReturnType<typeof readAnswers> =>
  readAnswers(Buffer.from(text, "latin1"), toHead, closed);

describe("readAnswers()", () => {
  it("reads responses framed by a length, by chunks or by the end of the connection, and skips 1xx responses", () => {
    const { answers, rest, fault } = read(
      "HTTP/1.1 100 Continue\r\n\r\n" +
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" +
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n" +
        "HTTP/1.1 204 No Content\r\n\r\n" +
        "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nrest",
    );
    expect(answers.map(({ status, body }) => [status, body.toString()])).to.deep.equal([
      [200, "{}"],
      [200, "abc"],
      [204, ""],
      [404, "rest"],
    ]);
    expect([rest, fault]).to.deep.equal([0, undefined]);
  });

  it("expects no body in a response to HEAD", () => {
    const { answers, fault } = read("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", { toHead: true });
    expect(answers).to.have.length(1);
    expect(fault).to.equal(undefined);
  });

  for (const [what, text] of Object.entries({
    "an invalid status line": "HTTP/1.1 OK\r\n\r\n",
    "a header with a control character": "HTTP/1.1 200 OK\r\nX: \x01\r\n\r\n",
    "a bare line feed": "HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n",
    "an invalid length": "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    "a length and chunks":
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "an invalid chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    "a truncated head": "HTTP/1.1 200 OK\r\nContent",
    "a truncated body": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
  })) {
    it(`reports ${what} as a fault`, () => expect(read(text).fault).to.be.a("string"));
  }

  it("reports an incomplete problem document as a fault", () => {
    const problem = (type: string, id: string, body: object): string | undefined => {
      const text = JSON.stringify(body);
      const head = `HTTP/1.1 404 Not Found\r\nContent-Type: ${type}\r\nX-Request-ID: ${id}\r\n`;
      const [answer] = read(`${head}Content-Length: ${text.length}\r\n\r\n${text}`).answers;
      if (answer === undefined) throw new Error("no answer");
      return problemFault(answer);
    };
    const whole = {
      type: "about:blank",
      title: "a",
      status: 404,
      detail: "b",
      instance: "/",
      request_id: "1",
    };
    const type = "application/problem+json";
    expect(problem(type, "1", whole)).to.equal(undefined);
    expect(problem(`${type}; charset=utf-8`, "1", whole)).to.contain("content-type");
    expect(problem(type, "2", whole)).to.contain("request_id");
    expect(problem(type, "1", { ...whole, status: 500 })).to.contain("status");
    expect(problem(type, "1", { ...whole, instance: undefined })).to.contain("instance");
  });
});
