import { execFileSync } from "node:child_process";
import { expect } from "chai";
import { curlOf, type SampleRequest } from "../src/page/curl.ts";

/** Returns the arguments that a shell passes to curl. */
function argumentsOf(request: Partial<SampleRequest>): readonly string[] {
  const whole = { method: "get", path: "/", values: [], body: undefined, bearer: false, cookie: undefined };
  const line = curlOf({ ...whole, ...request });
  expect(line).not.to.match(/[\n\r]/);
  const program = `curl() { printf '%s\\0' "$@"; }\n${line}`;
  const env = { PATH: process.env["PATH"], ORIGIN: "http://localhost:8000", TOKEN: "t0ken" };
  return execFileSync("sh", ["-c", program], { env, encoding: "utf8" }).split("\0").slice(0, -1);
}

describe("the curl line of an operation", () => {
  it("DOC-3 requests the URL with the example values, and sends the token from a shell variable", () => {
    const values = [
      { name: "id", place: "path", texts: ["a/b ?"] },
      { name: "tag", place: "query", texts: ["x y", "z&"] },
      { name: "X-Trace", place: "header", texts: ["1", "2"] },
      { name: "session", place: "cookie", texts: ["never shown"] },
    ];
    expect(argumentsOf({ path: "/expenses/{id}", values, bearer: true })).to.eql([
      "http://localhost:8000/expenses/a%2Fb%20%3F?tag=x+y&tag=z%26",
      "-H",
      "Authorization: Bearer t0ken",
      "-H",
      "X-Trace: 1,2",
    ]);
  });

  it("contains the method unless curl chooses it by default", () => {
    const body = { type: "application/json", text: '{"a":1}' };
    const sent = ["-H", "Content-Type: application/json", "--data-raw", '{"a":1}'];
    const address = "http://localhost:8000/";
    expect(argumentsOf({ method: "post", body })).to.eql([address, ...sent]);
    expect(argumentsOf({ method: "patch", body })).to.eql([address, "-X", "PATCH", ...sent]);
    expect(argumentsOf({ method: "get", body })).to.eql([address, "-X", "GET", ...sent]);
    expect(argumentsOf({ method: "delete" })).to.eql([address, "-X", "DELETE"]);
    expect(argumentsOf({ method: "head" })).to.eql([address, "--head"]);
  });

  it("sends the token as a cookie if there is no other way to sign in", () => {
    expect(argumentsOf({ cookie: "__Host-session" }).slice(1)).to.eql(["-b", "__Host-session=t0ken"]);
  });

  it("DOC-3 quotes every text of the document, so that the shell expands none", () => {
    const hostile = `'"$(touch x)\`touch x\`\\'; touch x #!!$TOKEN{a,b}[1-3]@&|<>*?~`;
    const body = { type: hostile, text: `@${hostile}` };
    const values = ["path", "query", "header"].map((place) => ({ name: "n", place, texts: [hostile] }));
    const [address = "", ...rest] = argumentsOf({ path: `/${hostile}/{n}`, values, body, method: "post" });
    const url = new URL(address);
    expect(url.origin).to.equal("http://localhost:8000");
    expect(address).not.to.match(/[{}[\]"\\`<>|#]/);
    expect(decodeURIComponent(url.pathname)).to.equal(`/${hostile}/${hostile}`);
    expect(url.searchParams.get("n")).to.equal(hostile);
    expect(rest).to.eql([
      "-H",
      `n: ${hostile}`,
      "-H",
      `Content-Type: ${hostile}`,
      "--data-raw",
      `@${hostile}`,
    ]);
  });

  it("replaces line breaks and control characters, which would end the command", () => {
    const text = "a\nb\r\nc\0d\u2028e\u001b[1m";
    const values = [{ name: "n", place: "header", texts: [text] }];
    const [address, ...rest] = argumentsOf({ path: `/${text}\ud800`, values });
    expect(address).to.equal("http://localhost:8000/a%0Ab%0D%0Ac%00d%E2%80%A8e%1B%5B1m%EF%BF%BD");
    expect(rest).to.eql(["-H", "n: a b c d e [1m"]);
  });

  it("appends a path without a leading slash to the origin, and does not change the host", () => {
    expect(argumentsOf({ path: "@evil.example/" })).to.eql(["http://localhost:8000/@evil.example/"]);
  });
});
