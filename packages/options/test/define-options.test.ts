import {
  boolean,
  ConfigurationError,
  defineOptions,
  fault,
  fileOptions,
  inSeconds,
  integer,
  number,
  optional,
  optionError,
  type OptionsOf,
  pickOptions,
  string,
  takeOptions,
  variablesOf,
  withDefault,
  withNames,
} from "@svc/options";
import { expect } from "chai";

const definition = defineOptions("createThing()", {
  /** Name of the thing. Required. */
  name: { key: "name", env: "SVC_THING_NAME", kind: string() },
  /** Time limit of a call. Default: 1,000. */
  timeoutMs: {
    key: "timeout",
    kind: withDefault(integer({ min: 1 }), 1000),
    inFile: inSeconds(number({ min: 0.001, max: 60 })),
  },
  /** Whether calls are repeated. Default: false. */
  repeat: { kind: withDefault(boolean(), false) },
  /** Size. Default: none. */
  size: { key: "size", env: ["SVC_THING_SIZE", "SVC_SIZE"], kind: optional(integer()) },
}).withCheck(function* ({ name: given, repeat, size }, name) {
  if (repeat && size === undefined) yield fault("size", `is required with ${name("repeat")}`);
  if (given === "size") yield fault("name", `must not be ${name("size")}`);
});

function faultsOf(given: object): unknown {
  try {
    definition.resolve(given);
  } catch (error) {
    return (error as ConfigurationError).message;
  }
  return undefined;
}

const names = { subject: "the service", of: (option: string) => `plugin.thing.${option}` };

describe("defineOptions", () => {
  it("fills in the defaults and freezes the result", () => {
    const options = definition.resolve({ name: "a" });
    expect(options).to.deep.equal({ name: "a", timeoutMs: 1000, repeat: false, size: undefined });
    expect(options).to.satisfy(Object.isFrozen);
  });

  it("derives the type of the options", () => {
    const given: OptionsOf<typeof definition> = { name: "a", timeoutMs: undefined };
    expect(definition.resolve(given).timeoutMs satisfies number).to.equal(1000);
    // @ts-expect-error -- name is required
    const incomplete: OptionsOf<typeof definition> = { repeat: true };
    expect(faultsOf(incomplete)).to.contain("name: is required");
    // @ts-expect-error -- timeoutMs is a number
    const wrong: OptionsOf<typeof definition> = { name: "a", timeoutMs: "1" };
    expect(faultsOf(wrong)).to.contain("timeoutMs: must be a whole number");
  });

  it("lists faults under the names in code, and checks combinations only when each option is valid", () => {
    expect(faultsOf({ name: "", nam: 1, repeat: true }))
      .to.contain("createThing() is configured wrongly (2 faults)")
      .and.to.contain("nam: is unknown; did you mean name?")
      .and.to.not.contain("size");
    expect(faultsOf({ name: "a", repeat: true })).to.contain("size: is required with repeat");
  });

  it("lists faults under the names attached to the options, even after a spread", () => {
    const given = { ...withNames({ name: "a", repeat: true }, names), extra: undefined };
    expect(faultsOf({ ...given, name: "" })).to.contain("the service is configured wrongly");
    expect(faultsOf({ ...given, name: "" })).to.contain("plugin.thing.name: must be");
    expect(faultsOf({ ...withNames({ name: "a", repeat: true }, names) })).to.contain(
      "plugin.thing.size: is required with plugin.thing.repeat",
    );
  });

  it("lists every fault that a check finds, from a generator and from a list", () => {
    expect(faultsOf({ name: "size", repeat: true }))
      .to.contain("(2 faults)")
      .and.to.contain("size: is required with repeat")
      .and.to.contain("name: must not be size");
    const checked = defineOptions("createThing()", definition.keys, () => [fault("name", "is wrong")]);
    expect(() => checked.resolve({ name: "a" })).to.throw(ConfigurationError, "name: is wrong");
    expect(definition.faultsOf(definition.resolve({ name: "a" }), String)).to.deep.equal([]);
  });

  it("creates the error for one option under the name that the user wrote", () => {
    const cause = new Error("cause");
    const error = optionError(names, "size", "is too large", { cause });
    expect(error.message).to.equal(
      "the service is configured wrongly (1 fault):\n  - plugin.thing.size: is too large",
    );
    expect(error.cause).to.equal(cause);
  });

  it("copies the given options and their names with takeOptions()", () => {
    const taken = takeOptions(
      withNames({ name: "", repeat: true, url: "http://x" }, names),
      "name",
      "repeat",
    );
    expect(Object.keys(taken)).to.eql(["name", "repeat"]);
    expect(faultsOf(taken)).to.contain("plugin.thing.name: must be").and.not.to.contain("url");
    expect(faultsOf(takeOptions({ name: "" }, "name"))).to.contain("createThing() is configured wrongly");
  });

  it("refuses two options with the same key or the same variable", () => {
    const kind = optional(string());
    expect(() => defineOptions("createThing()", { a: { key: "a", kind }, b: { key: "a", kind } })).to.throw(
      TypeError,
      "two options of createThing() have the key a",
    );
    const inner = defineOptions("inner", { c: { env: "SVC_A", kind } });
    expect(() =>
      defineOptions("createThing()", { a: { env: ["SVC_B", "SVC_A"], kind }, b: { key: "b", table: inner } }),
    ).to.throw(TypeError, "two options of createThing() have the variable SVC_A");
  });

  it("lists the variables in order, and picks only the given options", () => {
    expect(variablesOf(definition)).to.deep.equal(["SVC_THING_NAME", "SVC_THING_SIZE", "SVC_SIZE"]);
    expect(Object.keys(pickOptions(definition, "size", "name"))).to.deep.equal(["size", "name"]);
    expect(Object.keys(fileOptions(definition))).to.deep.equal(["name", "timeoutMs", "size"]);
    // @ts-expect-error -- repeat has no key
    expect(fileOptions(definition).repeat).to.equal(undefined);
  });

  it("converts a file's seconds to milliseconds without rounding errors", () => {
    const { toOption, toFile } = inSeconds(number()) as unknown as Record<string, (value: number) => number>;
    expect(toOption?.(0.3)).to.equal(300);
    expect(toOption?.(1.001)).to.equal(1001);
    expect(toFile?.(1000)).to.equal(1);
  });
});
