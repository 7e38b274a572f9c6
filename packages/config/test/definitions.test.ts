import { describeConfig, loadConfig } from "@svc/config";
import {
  boolean,
  type ConfigurationError,
  defineOptions,
  func,
  inSeconds,
  number,
  optional,
  string,
  withDefault,
} from "@svc/options";
import { expect } from "chai";

const thing = defineOptions(
  "[plugin.thing]",
  {
    /** Time limit. Default: 2 seconds. */
    timeoutMs: {
      key: "timeout",
      kind: withDefault(number({ min: 1 }), 2000),
      inFile: inSeconds(number({ min: 0.001, max: 60 })),
    },
    /** Region. Default: none. */
    region: { env: ["SVC_THING_REGION", "SVC_REGION"], kind: optional(string()) },
    /** Whether it is strict. Default: false. */
    strict: { key: "strict", kind: withDefault(boolean(), false) },
    /** Called at the end. Default: none. */
    onEnd: { kind: optional(func<() => void>()) },
  },
  ({ strict, timeoutMs }, name) =>
    strict && timeoutMs > 10_000
      ? [{ key: "timeoutMs", message: `must be at most 10 with ${name("strict")}` }]
      : [],
);

function load(
  table: string,
  env: Record<string, string> = {},
): { readonly thing?: unknown; readonly fault?: string } {
  const text = `[service]\nname = "a"\n[plugins]\nenabled = ["thing"]\n[plugin.thing]\n${table}`;
  try {
    const config = loadConfig({ text, env, plugins: { thing } as never });
    return { thing: (config.plugin as { readonly thing: unknown }).thing };
  } catch (error) {
    return { fault: (error as ConfigurationError).message };
  }
}

describe("a table defined by options", () => {
  it("has the options' defaults, and omits options that can only be set in code", () => {
    expect(load("").thing).to.deep.equal({ timeoutMs: 2000, region: undefined, strict: false });
    expect(load("on_end = 1").fault).to.contain("plugin.thing.on_end: is unknown");
  });

  it("converts values from the file's unit, and checks them in that unit", () => {
    expect(load("timeout = 0.25").thing).to.include({ timeoutMs: 250 });
    expect(load("timeout = 61").fault).to.contain("plugin.thing.timeout: must be a number from 0.001 to 60");
  });

  it("reads an environment-only option from the first of its variables that is set", () => {
    expect(load("", { SVC_REGION: "b" }).thing).to.include({ region: "b" });
    expect(load("", { SVC_REGION: "b", SVC_THING_REGION: "a" }).thing).to.include({ region: "a" });
    expect(load('region = "c"').fault).to.contain("plugin.thing.region: is unknown");
  });

  it("reports contradictory options with their keys in the file", () => {
    expect(load("strict = true\ntimeout = 20").fault).to.contain(
      "plugin.thing.timeout: must be at most 10 with strict",
    );
  });

  it("appears in describeConfig() with values in the options' units", () => {
    const text = '[service]\nname = "a"\n[plugins]\nenabled = ["thing"]\n[plugin.thing]\ntimeout = 3\n';
    const config = loadConfig({ text, env: {}, plugins: { thing } as never });
    expect(describeConfig(config)).to.have.nested.property("plugin.thing.timeoutMs", 3000);
  });
});
