import { ConfigurationError } from "@svc/options";
import { type Logger, RequestContext, runWithContext } from "@svc/context";
import { createLogger } from "@svc/log";
import { withActiveSpan } from "@svc/test-support";
import { expect } from "chai";
import { lines, memberNames } from "./support/lines.ts";

const base = { service: "shop", env: "local" };
const trace = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", traceparent: "", tracestate: undefined };

describe("createLogger()", () => {
  it("LOG-1 writes one JSON object per line", () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    logger.info({ order: 7 }, "placed\nand\r\nconfirmed");
    logger.warn("plain");
    expect(out.text.split("\n")).to.have.length(3);
    expect(out.records().map((record) => record["message"])).to.deep.equal([
      "placed\nand\r\nconfirmed",
      "plain",
    ]);
  });

  it("LOG-2 ENV-1 writes service, env, level and message in every record", () => {
    const out = lines();
    const logger = createLogger({ ...base, version: "1.2.3", destination: out });
    logger.error({ order: 7 }, "no stock");
    const [record] = out.records();
    expect(record).to.include({ ...base, version: "1.2.3", level: "error", message: "no stock", order: 7 });
    expect(record?.["time"]).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(memberNames(out.text)).to.deep.equal([
      "level",
      "time",
      "service",
      "env",
      "version",
      "order",
      "message",
    ]);
  });

  it("writes the record when a method is called without the logger as `this`", async () => {
    const out = lines();
    // oxlint-disable-next-line typescript/unbound-method -- applications write this
    const { error } = createLogger({ service: "shop", env: "local", destination: out });
    await Promise.reject(new Error("lost")).catch(error);
    expect(out.records().map(({ message }) => message)).to.deep.equal(["lost"]);
  });

  it("LOG-2 writes a string message for any logged value", () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    const log = logger as unknown as Record<"info", (...args: unknown[]) => void>;
    log.info({ a: 1 });
    log.info(undefined);
    log.info();
    log.info(null);
    log.info(42);
    log.info({ a: 1 }, { b: 2 });
    log.info({ message: { deep: true } });
    log.info({ message: "as a field" });
    log.info(new Error("broken"));
    log.info({ err: new Error("nested") });
    log.info(null, "text");
    log.info("%s has %d", "cart", 3);
    // prettier-ignore
    expect(out.records().map((record) => record["message"])).to.deep.equal([
      "", "", "", "", "42", "{ b: 2 }", "{ deep: true }", "as a field", "broken", "nested", "text", "cart has 3",
    ]);
  });

  it("COR-12 adds the trace_id of an active OpenTelemetry span, even without a context", async () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    await withActiveSpan(`00-${"ab".repeat(16)}-00f067aa0ba902b7-01`, () => {
      logger.info("outside");
      runWithContext(new RequestContext({ requestId: "r-1", trace }), () => logger.info("inside"));
      logger.child({ trace_id: "bound" }).info("bound");
    });
    logger.info("after");
    expect(out.records().map(({ request_id, trace_id }) => [request_id, trace_id])).to.deep.equal([
      [undefined, "ab".repeat(16)],
      ["r-1", "ab".repeat(16)],
      [undefined, "bound"],
      [undefined, undefined],
    ]);
  });

  it("COR-4 COR-12 LOG-2 adds request_id, trace_id, tenant_id and tenant_claimed of the current context", () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    const context = new RequestContext({
      requestId: "r-1",
      trace,
      tenantId: "acme",
      tenantClaimed: "x".repeat(200),
    });
    runWithContext(context, () => logger.info({ a: 1 }, "inside"));
    runWithContext(new RequestContext({ requestId: "r-2" }), () => logger.info("inside"));
    logger.info("outside");
    const [first, second, outside] = out.records();
    expect(first).to.include({ request_id: "r-1", trace_id: trace.traceId, tenant_id: "acme" });
    expect(first?.["tenant_claimed"]).to.equal("x".repeat(128));
    expect(second).to.include({ request_id: "r-2" }).and.not.to.have.any.keys("trace_id", "tenant_id");
    expect(outside).not.to.have.any.keys("request_id", "trace_id", "tenant_id", "tenant_claimed");
  });

  it("LOG-1 writes every name once per record", () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    const context = new RequestContext({ requestId: "r-1", tenantId: "acme" });
    runWithContext(context, () => {
      logger.info(
        { service: "other", env: "x", level: 3, time: 1, message: "field", request_id: "mine" },
        "text",
      );
      const child = logger.child({ request_id: "bound", service: "job", part: "a" });
      child.info({ part: "b" }, "in a child");
      child.child({ part: "c", message: "m" }).info({ tenant_id: "t" }, "in its child");
      child.setBindings({ part: "d" });
      child.info("bound again");
      child.child({ err: 1 }).error(new Error("broken"));
    });
    const written = out.text.trimEnd().split("\n");
    for (const line of written) expect(memberNames(line)).to.deep.equal([...new Set(memberNames(line))]);
    const [own, inChild, deeper, again, failed] = out.records();
    expect(own).to.include({ service: "shop", service_: "other", env_: "x", level: "info", level_: 3 });
    expect(own).to.include({ message: "text", message_: "field", request_id: "mine", tenant_id: "acme" });
    expect(inChild).to.include({ request_id: "bound", part: "b", service: "shop", service_: "job" });
    expect(deeper).to.include({ part: "c", message_: "m", tenant_id: "t" });
    expect(again).to.include({ part: "d" });
    expect(failed?.["err"]).to.include({ message: "broken" });
  });

  it("LOG-1 writes a renamed field once, and replaces the same renamed field of a child logger", () => {
    const out = lines();
    const child = createLogger({ ...base, destination: out }).child({ time: 1, message: "c", kept: true });
    child.info({ time: 2, message: "d" }, "x");
    child.info({ time_: 3, service: "other" }, "x");
    const written = out.text.trimEnd().split("\n");
    for (const line of written) expect(memberNames(line)).to.deep.equal([...new Set(memberNames(line))]);
    const [first, second] = out.records();
    expect(first).to.include({ time_: 2, message_: "d", message: "x", kept: true });
    expect(second).to.include({ time_: 3, message_: "c", service_: "other", message: "x", kept: true });
  });

  it("LOG-1 LOG-2 treats a null message as no message", () => {
    const out = lines();
    const child = createLogger({ ...base, destination: out }).child({ message: "bound" });
    child.info({ message: null, a: 1 });
    child.info({ message: null, time: 1, err: new Error("broken") });
    for (const line of out.text.trimEnd().split("\n")) {
      expect(memberNames(line)).to.deep.equal([...new Set(memberNames(line))]);
    }
    const [first, second] = out.records();
    expect(first).to.include({ message: "", message_: "bound", a: 1 });
    expect(second).to.include({ message: "broken", message_: "bound", time_: 1 });
  });

  it("keeps the digits of large integers in the fields of child loggers", () => {
    const out = lines();
    const list = [2n ** 70n, true, "a,b", { "c,d": null }];
    const child = createLogger({ ...base, destination: out }).child({ order: 12345678901234567890n, list });
    child.child({ "na:me,": -1.5, none: null, yes: true }).info("deep");
    child.info({ list: 1 }, "replaced");
    const order = '"order":12345678901234567890,';
    expect(out.text).to.contain(
      `${order}"list":[1180591620717411303424,true,"a,b",{"c,d":null}],"na:me,":-1.5,"none":null,"yes":true,"message"`,
    );
    expect(out.text).to.contain(`${order}"list":1,"message"`);
  });

  it("LOG-2 writes errors under err with type, message, code and a stack that includes the causes", () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    const cause = new RangeError("too far");
    const error = Object.assign(new TypeError("wrong", { cause }), {
      code: "E_WRONG",
      config: { headers: { a: "b" } },
    });
    logger.error({ err: error }, "failed");
    logger.error(error);
    for (const { err } of out.records()) {
      expect(err).to.include({ type: "TypeError", message: "wrong", code: "E_WRONG" });
      expect((err as { stack: string }).stack).to.match(
        /^TypeError: wrong\n {4}at .*\ncaused by: RangeError: too far/s,
      );
      expect(err).not.to.have.property("config");
    }
  });

  it("truncates long strings of errors", () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    const circular = new Error("y".repeat(100_000));
    circular.cause = circular;
    logger.error(new AggregateError([circular, circular], "many"));
    logger.error(circular);
    expect(out.text.length).to.be.below(90_000);
    expect(out.records()).to.have.length(2);
    logger.error(Object.assign(new Error("m"), { code: "c".repeat(100_000), name: "n".repeat(100_000) }));
    const { err } = out.records()[2] as { err: { code: string; type: string } };
    expect([err.code.length, err.type.length]).to.deep.equal([16_387, 16_387]);
  });

  it("never throws to the code that logs", () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    const hostile = {
      get broken(): string {
        throw new RangeError("secret detail");
      },
    };
    logger.info(hostile, "x");
    logger.info({ hostile, big: 10n, self: logger }, "y");
    const broken = createLogger({
      ...base,
      destination: {
        write() {
          throw new Error("disk");
        },
      },
    });
    broken.info("lost");
    const [first, second] = out.records();
    expect(first?.["message"]).to.equal("a log line could not be written: RangeError");
    expect(second).to.include({ message: "y" });
    expect(out.text).not.to.contain("secret detail");
  });

  it("LOG-1 escapes characters that terminals and line splitters interpret", () => {
    const out = lines();
    createLogger({ ...base, destination: out }).info({ note: "\u009b2J\u2029" }, "a\u2028b\u001b[31m\u0085");
    expect(out.text).to.match(/^[\x20-\x7e]*\n$/);
    expect(out.records()[0]).to.include({ message: "a\u2028b\u001b[31m\u0085", note: "\u009b2J\u2029" });
  });

  it("ENV-1 accepts levels in upper and lower case, and level names such as warning and critical", () => {
    const levelOf = (level: string): string => createLogger({ ...base, level, destination: lines() }).level;
    expect(["INFO", "Warning", "warn", "CRITICAL", "debug", "silent"].map(levelOf)).to.deep.equal([
      "info",
      "warn",
      "warn",
      "fatal",
      "debug",
      "silent",
    ]);
  });

  it("drops records below its level, which can change at run time", () => {
    const out = lines();
    const logger = createLogger({ ...base, level: "WARN", destination: out });
    logger.info("no");
    logger.level = "info";
    logger.info("yes");
    expect(out.records().map((record) => record["message"])).to.deep.equal(["yes"]);
  });

  it("implements the Logger interface of @svc/context", () => {
    const logger: Logger = createLogger({ ...base, destination: lines() });
    expect(logger).to.respondTo("fatal");
  });

  it("rejects invalid options and names each", () => {
    const wrong = { env: "local", level: "loud", destination: {}, redact: ["a b"], leve: 1 };
    expect(() => createLogger(wrong as never))
      .to.throw(ConfigurationError)
      .with.property("message")
      .that.matches(/service: is required/)
      .and.matches(/level: must be one of trace, debug, .* in upper or lower case; it is "loud"/)
      .and.matches(/destination: must be/)
      .and.matches(/redact: must be/)
      .and.matches(/leve: is unknown; did you mean level\?/);
  });

  it("ENV-2 rejects NODE_ENV values such as production, and accepts a custom environment name", () => {
    for (const [env, meant] of [
      ["production", "prod"],
      ["development", "dev"],
      ["test", "local"],
    ] as const) {
      expect(() => createLogger({ service: "shop", env })).to.throw(
        ConfigurationError,
        "env: must be the name of an environment, such as local, dev, staging or prod; " +
          `it is "${env}"; did you mean "${meant}"?`,
      );
    }
    expect(() => createLogger({ service: "shop", env: "" })).to.throw(ConfigurationError, 'it is ""');
    const out = lines();
    createLogger({ service: "shop", env: "qa", destination: out }).info("written");
    expect(out.records()[0]).to.include({ env: "qa" });
  });
});

describe("text lines", () => {
  it("LOG-6 ENV-5 contain time, level, message and fields in human-readable form", () => {
    const out = lines();
    const logger = createLogger({ ...base, json: false, destination: out });
    logger.warn({ order: 7, note: "two words", list: [1] }, "stock is low");
    expect(out.text).to.match(
      /^\S+Z WARN {2}stock is low service=shop env=local order=7 note="two words" list=\[1\]\n$/,
    );
  });

  it("LOG-6 ENV-5 show the stack of an error on indented lines", () => {
    const out = lines();
    createLogger({ ...base, json: false, destination: out }).error(new TypeError("wrong"));
    const [first, second, third] = out.text.split("\n");
    expect(first).to.match(/ERROR wrong service=shop env=local$/);
    expect(second).to.equal("    TypeError: wrong");
    expect(third).to.match(/^ {4}at /);
  });

  it("LOG-6 contain no line breaks, and redact the same secrets as JSON lines", () => {
    const out = lines();
    const logger = createLogger({ ...base, json: false, destination: out });
    logger.info(
      { "a\nb": "c\u001b[2J", deep: { text: "x\u2028y", password: "canary" } },
      "one\r\ntwo\u0085\u2028",
    );
    expect(out.text).to.match(/^[\x20-\x7e]*\n$/);
    expect(out.text).to.contain("one\\r\\ntwo\\u0085\\u2028").and.not.to.contain("canary");
  });

  it("COR-4 LOG-6 contain the request id", () => {
    const out = lines();
    const logger = createLogger({ ...base, json: false, destination: out });
    runWithContext(new RequestContext({ requestId: "r-9" }), () => logger.info("hello"));
    expect(out.text).to.contain(" request_id=r-9");
  });
});
