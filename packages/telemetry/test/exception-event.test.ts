import { expect } from "chai";
import fc from "fast-check";
import { exceptionAttributes } from "../src/exception-event.ts";

const SECRET = "a secret";

/** Returns an error as `pg` throws it, whose message quotes a value. */
function databaseError(message = `invalid input syntax for type integer: "${SECRET}"`): Error {
  return Object.assign(new Error(message), { name: "error", code: "22P02" });
}

function faulty(): never {
  throw new Error(SECRET);
}

describe("exceptionAttributes() of unusual errors", () => {
  it("TRACE-15 omits the message of an AggregateError that contains an error of PostgreSQL", () => {
    const cause = Object.assign(new Error("secret"), { code: "23505" });
    const attributes = exceptionAttributes(new AggregateError([new Error("x"), cause], "secret"));
    expect(attributes).to.include({ "error.type": "23505" });
    expect(JSON.stringify(attributes)).not.to.contain("secret");
  });

  it("TRACE-15 omits the message of an error whose cause is an AggregateError with an error of PostgreSQL", () => {
    const cause = new AggregateError([new Error("x", { cause: databaseError() })]);
    for (const error of [
      new Error(`outer: ${SECRET}`, { cause }),
      new AggregateError([cause], `outer: ${SECRET}`),
      new Error(`outer: ${SECRET}`, { cause: new Error("middle", { cause }) }),
    ]) {
      const attributes = exceptionAttributes(error);
      expect(attributes).to.include({ "error.type": "22P02" });
      expect(JSON.stringify(attributes)).not.to.contain(SECRET);
    }
  });

  it("TRACE-21 reads errors that contain each other, and a list of any length, to an end", () => {
    const error = new AggregateError([], "in a cycle");
    error.errors.push(error, new Error("inner", { cause: error }));
    const long = new AggregateError(
      Array(100_000)
        .fill(undefined)
        .map(() => new Error("one")),
      "long",
    );
    expect(exceptionAttributes(error)).to.include({ "exception.message": "in a cycle" });
    expect(exceptionAttributes(long)).to.include({ "exception.message": "long" });
  });
});

describe("the event of an exception", () => {
  it("TRACE-17 has type, message and stack", () => {
    const attributes = exceptionAttributes(new RangeError("too far"));
    expect(attributes).to.include({ "exception.type": "RangeError", "exception.message": "too far" });
    expect(attributes["exception.stacktrace"]).to.match(
      /^RangeError: too far\n {4}at .*exception-event\.test/,
    );
  });

  it("TRACE-17 has at most 256 characters of the message and 8,192 of the stack", () => {
    const attributes = exceptionAttributes(new Error("m".repeat(10_000)));
    expect(attributes["exception.message"]).to.equal("m".repeat(256));
    expect(attributes["exception.stacktrace"]).to.match(/^Error: m{256}\n {4}at /);
    const deep = Object.assign(new Error("deep"), { stack: `Error: deep\n${"    at f (x)\n".repeat(1000)}` });
    expect(exceptionAttributes(deep)["exception.stacktrace"]).to.have.lengthOf(8192);
  });

  it("TRACE-17 has the type of a thrown value that is not an error, and a thrown string as its message", () => {
    expect(exceptionAttributes("x".repeat(300))).to.deep.equal({
      "exception.type": "string",
      "exception.message": "x".repeat(256),
    });
    for (const value of [undefined, null, 5, 5n, Symbol("s"), { message: SECRET }, [SECRET], () => SECRET]) {
      expect(exceptionAttributes(value)).to.deep.equal({
        "exception.type": typeof value,
        "exception.message": "a value that is not an Error",
      });
    }
  });

  it("TRACE-21 has empty strings instead of members that are not strings or cannot be read", () => {
    const unreadable = Object.defineProperties(new Error("unreadable"), {
      name: { get: faulty },
      message: { get: faulty },
      stack: { get: faulty },
      code: { get: faulty },
      cause: { get: faulty },
    });
    const noTexts = Object.assign(new Error("none"), { name: 5, message: { toString: faulty }, stack: null });
    for (const error of [unreadable, noTexts]) {
      expect(exceptionAttributes(error)).to.deep.equal({
        "exception.type": "Error",
        "exception.message": "",
        "exception.stacktrace": "",
      });
    }
  });

  it("TRACE-15 has only type, SQLSTATE and frames for an error of PostgreSQL", () => {
    const attributes = exceptionAttributes(databaseError());
    expect(attributes).to.have.all.keys("exception.type", "error.type", "exception.stacktrace");
    expect(attributes).to.include({ "exception.type": "error", "error.type": "22P02" });
    expect(attributes["exception.stacktrace"]).to.match(/^ {4}at .*exception-event\.test/);
    expect(JSON.stringify(attributes)).not.to.contain(SECRET);
  });

  it("TRACE-15 omits the message of an error whose cause is an error of PostgreSQL", () => {
    const cause = databaseError();
    const wrappers = [
      new Error(`could not save: ${cause.message}`, { cause }),
      // Object-relational mappers quote the bound values in the messages of their own errors.
      new TypeError(`Failed query: select $1::int\nparams: ${SECRET}`, { cause }),
      new Error("outer", { cause: new Error(`inner: ${cause.message}`, { cause }) }),
    ];
    for (const error of wrappers) {
      const attributes = exceptionAttributes(error);
      expect(attributes).to.include({ "exception.type": error.name, "error.type": "22P02" });
      expect(attributes).not.to.have.property("exception.message");
      expect(attributes["exception.stacktrace"]).to.match(/^ {4}at .*exception-event\.test/);
      expect(JSON.stringify(attributes)).not.to.contain(SECRET);
    }
  });

  it("TRACE-15 includes the message of an error with an operating-system error code", () => {
    const error = Object.assign(new Error("broken pipe"), { code: "EPIPE" });
    expect(exceptionAttributes(error)).to.include({ "exception.message": "broken pipe" });
  });

  it("TRACE-15 omits the frames of an error of PostgreSQL when its stack begins with another message", () => {
    const error = databaseError(`first\n    at ${SECRET} (/file.js:1:1)`);
    // The first access computes the stack, which later changes do not affect.
    expect(error.stack).to.contain(SECRET);
    for (const message of ["", "changed", "at", `    at ${SECRET}`]) {
      error.message = message;
      expect(exceptionAttributes(error)).to.include({ "exception.stacktrace": "" });
    }
  });

  it("TRACE-15 never contains any part of the message of an error of PostgreSQL", () => {
    const lines = fc.array(fc.constantFrom("", ": ", "Error: ", "    at ", "    at f (/a.js:1:1)", "x"));
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const message = [...before, SECRET, ...after].join("\n");
        const attributes = exceptionAttributes(databaseError(message));
        expect(JSON.stringify(attributes)).not.to.contain(SECRET);
        expect(attributes["exception.stacktrace"]).to.match(/^ {4}at .*exception-event\.test/);
      }),
    );
  });
});
