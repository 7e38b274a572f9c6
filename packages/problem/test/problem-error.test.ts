import { expect } from "chai";
import {
  badGateway,
  badRequest,
  conflict,
  forbidden,
  gatewayTimeout,
  internalError,
  isProblemError,
  methodNotAllowed,
  missingRoles,
  missingScopes,
  notFoundError,
  payloadTooLarge,
  ProblemError,
  serviceUnavailable,
  statusPhrase,
  tooManyRequests,
  unauthorized,
  unprocessable,
  unsupportedMediaType,
} from "@svc/problem";

describe("ProblemError", () => {
  it("keeps status, detail and options", () => {
    const cause = new Error("why");
    const error = new ProblemError(409, "taken", {
      code: "ERR_APP_TAKEN",
      headers: { "X-A": "1" },
      extensions: { by: "b" },
      cause,
    });
    expect(error).to.be.instanceOf(Error);
    expect(error).to.include({
      status: 409,
      detail: "taken",
      message: "taken",
      code: "ERR_APP_TAKEN",
      cause,
    });
    expect(error).to.include({ name: "ProblemError", expose: true, title: "Conflict", type: "about:blank" });
    expect(error.headers).to.deep.equal({ "X-A": "1" });
    expect(error.extensions).to.deep.equal({ by: "b" });
  });

  it("ERR-3 has the fixed phrase as its title, even if Node's phrase differs", () => {
    expect(new ProblemError(413).title).to.equal("Payload Too Large");
    expect(new ProblemError(422).title).to.equal("Unprocessable Entity");
    expect(new ProblemError(401).title).to.equal("Unauthorized");
    expect(statusPhrase(499)).to.equal("Client Error");
    expect(statusPhrase(599)).to.equal("Server Error");
  });

  it("has a stack only for a status of 500 or higher, and restores Error.stackTraceLimit", () => {
    const limit = Error.stackTraceLimit;
    expect(new ProblemError(404).stack).to.not.contain(" at ");
    expect(new ProblemError(500).stack).to.contain(" at ");
    expect(Error.stackTraceLimit).to.equal(limit);
  });

  it("refuses a status outside 400 to 599", () => {
    for (const status of [200, 399, 600, 404.5, Number.NaN]) {
      expect(() => new ProblemError(status)).to.throw(RangeError, "from 400 to 599");
    }
  });

  it("is recognised across copies of the package, by its symbol and not by its class", () => {
    const foreign = { [Symbol.for("@svc/problem/1")]: true };
    expect(isProblemError(foreign)).to.equal(true);
    expect(isProblemError(new ProblemError(400))).to.equal(true);
    expect(isProblemError(new Error("x"))).to.equal(false);
    expect(isProblemError(undefined)).to.equal(false);
    const hostile = new Proxy(
      {},
      {
        get() {
          throw new Error("no");
        },
      },
    );
    expect(isProblemError(hostile)).to.equal(false);
  });
});

describe("the functions that create problems", () => {
  it("give each problem its status and a stable code", () => {
    const seen = [
      badRequest("x"),
      unauthorized(),
      forbidden("x"),
      missingScopes(["a"]),
      missingRoles(["a"]),
      notFoundError(),
      methodNotAllowed(["GET"]),
      conflict("x"),
      payloadTooLarge(),
      unsupportedMediaType(),
      unprocessable([]),
      tooManyRequests({ limit: 1, retryAfterSeconds: 1 }),
      internalError(),
      badGateway(),
      serviceUnavailable(),
      gatewayTimeout(),
    ].map((error) => `${error.status} ${error.code}`);
    expect(seen).to.deep.equal([
      "400 ERR_SVC_BAD_REQUEST",
      "401 ERR_SVC_UNAUTHORIZED",
      "403 ERR_SVC_FORBIDDEN",
      "403 ERR_SVC_MISSING_SCOPES",
      "403 ERR_SVC_MISSING_ROLES",
      "404 ERR_SVC_NOT_FOUND",
      "405 ERR_SVC_METHOD_NOT_ALLOWED",
      "409 ERR_SVC_CONFLICT",
      "413 ERR_SVC_PAYLOAD_TOO_LARGE",
      "415 ERR_SVC_UNSUPPORTED_MEDIA_TYPE",
      "422 ERR_SVC_UNPROCESSABLE",
      "429 ERR_SVC_TOO_MANY_REQUESTS",
      "500 ERR_SVC_INTERNAL",
      "502 ERR_SVC_BAD_GATEWAY",
      "503 ERR_SVC_SERVICE_UNAVAILABLE",
      "504 ERR_SVC_GATEWAY_TIMEOUT",
    ]);
  });

  it("ERR-12 return a 401 that hides the reason and names the scheme", () => {
    const error = unauthorized({ cause: new Error("expired") });
    expect(error.detail).to.equal("authentication required");
    expect(error.headers).to.deep.equal({ "WWW-Authenticate": "Bearer" });
  });

  it("ERR-13 return a 403 with the missing scopes, sorted and without duplicates", () => {
    const error = missingScopes(["b", "a", "b"]);
    expect(error.detail).to.equal("missing scope(s): a, b");
    expect(error.extensions).to.deep.equal({ missing_scopes: ["a", "b"] });
  });

  it("ERR-14 return a 403 with the list of roles of which the caller needs one", () => {
    expect(missingRoles(["x", "y"]).detail).to.equal("requires one of: x, y");
  });

  it("ERR-20 return a 429 with the time until a retry, in headers and members", () => {
    const detail = "at most 100 requests per minute";
    expect(tooManyRequests({ limit: 100, retryAfterSeconds: 1, detail }).detail).to.equal(detail);
    const error = tooManyRequests({ limit: 100, retryAfterSeconds: 0.2, resetSeconds: 42.1 });
    expect(error.headers).to.deep.equal({
      "RateLimit-Limit": "100",
      "RateLimit-Remaining": "0",
      "RateLimit-Reset": "43",
      "Retry-After": "1",
    });
    expect(error.extensions).to.deep.equal({ limit: 100, remaining: 0, retry_after: 1 });
  });

  it("return a 503 with Retry-After when retryAfterSeconds is given", () => {
    expect(serviceUnavailable("x", { retryAfterSeconds: 2.5 }).headers).to.deep.equal({ "Retry-After": "3" });
    expect(serviceUnavailable("x").headers).to.equal(undefined);
  });

  it("ERR-16 return a 422 with type, loc, msg and input of each issue", () => {
    const error = unprocessable([
      { type: "missing", loc: ["body", "name"], msg: "is required" },
      { type: "int", loc: ["body", 0], msg: "is no number", input: "x" },
    ]);
    expect(error.detail).to.equal("Request validation failed");
    expect(error.extensions).to.deep.equal({
      errors: [
        { type: "missing", loc: ["body", "name"], msg: "is required" },
        { type: "int", loc: ["body", 0], msg: "is no number", input: "x" },
      ],
    });
  });

  it("ERR-17 make input JSON-safe and truncate it at 512 characters, for any value", () => {
    const cycle: Record<string, unknown> = { name: "x" };
    cycle["self"] = cycle;
    const shown = (input: unknown): unknown => {
      const error = unprocessable([{ type: "t", loc: [], msg: "m", input }]);
      const text = JSON.stringify(error.extensions);
      return (JSON.parse(text) as { errors: [{ input: unknown }] }).errors[0].input;
    };
    expect(shown("é".repeat(600))).to.equal("é".repeat(512));
    expect(shown("x".repeat(511) + "😀")).to.equal("x".repeat(511));
    expect(shown({ a: "y".repeat(400), b: "z".repeat(400) }))
      .to.be.a("string")
      .with.lengthOf(512);
    expect(shown(10n)).to.equal("10");
    expect(shown(Number.POSITIVE_INFINITY)).to.equal("Infinity");
    expect(shown(Buffer.from("text"))).to.equal("text");
    expect(shown(Buffer.from("€".repeat(1000)))).to.equal("€".repeat(512));
    expect(shown(Buffer.from([0xff, 0xfe]))).to.equal("<2 bytes>");
    expect(shown(Buffer.from([0x41, 0xe2, 0x82]))).to.equal("<3 bytes>");
    expect(shown(new Date(Number.NaN))).to.equal("<invalid date>");
    expect(shown(() => 1)).to.equal("<function>");
    expect(JSON.stringify(shown(cycle))).to.contain("<too deep>");
    expect(
      shown({
        get bad() {
          throw new Error("no");
        },
      }),
    ).to.deep.equal({ bad: "<unreadable>" });
    expect(shown(JSON.parse('{"__proto__":{"a":1},"b":2}'))).to.deep.equal({ b: 2 });
  });

  it("ERR-17 limit the size of the copied input when its objects reference each other many times", () => {
    const knots = Array.from({ length: 100 }, (): Record<string, unknown> => ({}));
    for (const knot of knots) for (const [at, other] of knots.entries()) knot[`k${at}`] = other;
    let reads = 0;
    const counted = {
      get graph() {
        reads += 1;
        return knots[0];
      },
    };
    const all = Array.from({ length: 50 }, () => knots);
    const error = unprocessable([{ type: "t", loc: [], msg: "m", input: [counted, all] }]);
    const text = JSON.stringify(error.extensions);
    expect(text.length).to.be.below(1_000);
    expect(reads).to.equal(1);
  });

  it("ERR-17 keep at most 100 issues", () => {
    const issues = Array.from({ length: 500 }, () => ({ type: "t", loc: [], msg: "m" }));
    expect(unprocessable(issues).extensions?.["errors"]).to.have.lengthOf(100);
  });
});
