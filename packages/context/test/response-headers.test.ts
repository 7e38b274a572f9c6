import { once } from "node:events";
import { type IncomingHttpHeaders, ServerResponse } from "node:http";
import { connect, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { markAsPassingOn, setCheckedHeader, storedHeaders } from "@svc/context";
import { listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";

type SetHeader = ServerResponse["setHeader"];

function response(): ServerResponse {
  return new ServerResponse({ method: "GET", httpVersionMajor: 1, httpVersionMinor: 1 } as never);
}

/** Returns a `setHeader` that records the names of the headers and calls the method that `to` returns. */
function noting(names: string[], to: () => SetHeader): SetHeader {
  return function note(this: ServerResponse, name, value) {
    names.push(name);
    return to().call(this, name, value);
  };
}

// oxlint-disable-next-line typescript/unbound-method -- called with its response
const nodes: SetHeader = ServerResponse.prototype.setHeader;

describe("setCheckedHeader()", () => {
  it("stores the header where this version of Node stores it", () => {
    const res = response();
    setCheckedHeader(res, "x-id", "X-Id", "1");
    expect({ ...storedHeaders(res) }).to.deep.equal({ "x-id": ["X-Id", "1"] });
    const other = response();
    other.setHeader("X-Id", "1");
    expect({ ...storedHeaders(other) }).to.deep.equal({ "x-id": ["X-Id", "1"] });
  });

  it("replaces an earlier value, and sends the name as given", async () => {
    await using server = await listen((_req, res) => {
      res.setHeader("x-ID", "0");
      setCheckedHeader(res, "x-id", "X-Id", "1");
      expect(res.getHeader("X-ID")).to.equal("1");
      res.end();
    });
    const { text } = await rawRequest(server.port, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(text.match(/^x-id: .*$/gim)).to.deep.equal(["X-Id: 1"]);
  });

  it("calls a setHeader that replaces Node's on the response or on its prototype", () => {
    const seen: string[] = [];
    const res = response();
    res.setHeader = noting(seen, () => nodes);
    setCheckedHeader(res, "x-own", "X-Own", "1");
    const other = response();
    ServerResponse.prototype.setHeader = noting(seen, () => nodes);
    try {
      setCheckedHeader(other, "x-all", "X-All", "1");
    } finally {
      ServerResponse.prototype.setHeader = nodes;
    }
    expect(seen).to.deep.equal(["X-Own", "X-All"]);
    expect([res.getHeader("x-own"), other.getHeader("x-all")]).to.deep.equal(["1", "1"]);
  });

  it("bypasses a setHeader that is marked as a wrapper of Node's, but not a wrapper of another method", () => {
    const seen: string[] = [];
    let beneath = nodes;
    const passing = noting(seen, () => beneath);
    markAsPassingOn(passing, () => ({ setHeader: beneath }));
    const res = response();
    res.setHeader = passing;
    setCheckedHeader(res, "x-first", "X-First", "1");
    expect(seen).to.deep.equal([]);
    beneath = noting(seen, () => nodes);
    setCheckedHeader(res, "x-second", "X-Second", "1");
    expect(seen).to.deep.equal(["X-Second", "X-Second"]);
    expect(res.getHeaderNames()).to.deep.equal(["x-first", "x-second"]);
  });

  it("throws as Node does when the head of the response has been sent", () => {
    const res = response();
    res.writeHead(200);
    expect(() => setCheckedHeader(res, "x-id", "X-Id", "1"))
      .to.throw(Error)
      .with.property("code", "ERR_HTTP_HEADERS_SENT");
  });

  it("sets the header of an HTTP/2 response", async () => {
    const server = createServer((_req, res) => {
      setCheckedHeader(res as unknown as ServerResponse, "x-id", "X-Id", "1");
      res.end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    try {
      const [headers] = (await once(client.request({}), "response")) as [IncomingHttpHeaders];
      expect(headers).to.include({ ":status": 200, "x-id": "1" });
    } finally {
      client.close();
      server.close();
    }
  });
});
