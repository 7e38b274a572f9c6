import { definePlugin, type PartsOf, type PluginContext } from "@svc/plugin";
import { defineOptions, optional, string } from "@svc/options";
import { expect } from "chai";

describe("definePlugin", () => {
  it("fills in omitted members, and passes the context to start()", async () => {
    const clock = definePlugin({
      name: "clock",
      start: ({ service }) => ({ parts: { clock: service.name } }),
    });
    expect(clock).to.include({ name: "clock" });
    expect([clock.needs, clock.uses, clock.options.keys]).to.deep.equal([[], [], {}]);
    const context = { service: { name: "orders" } } as PluginContext<Record<never, never>>;
    const { parts } = await clock.start(context);
    expect(parts satisfies PartsOf<typeof clock> | undefined).to.deep.equal({ clock: "orders" });
  });

  it("derives the types of the options and of the parts", () => {
    const options = defineOptions("[plugin.audit]", { header: { key: "header", kind: optional(string()) } });
    const audit = definePlugin({
      name: "audit",
      options,
      start: ({ options: { header } }) => ({ parts: { audit: header satisfies string | undefined } }),
    });
    const parts: PartsOf<typeof audit> = { audit: "x" };
    expect(parts).to.have.property("audit");
    // @ts-expect-error -- the part is a string
    const wrong: PartsOf<typeof audit> = { audit: 5 };
    expect(wrong).to.have.property("audit");
  });

  it("rejects an invalid name, a missing start(), and a plugin that needs itself", () => {
    const start = (): object => ({});
    for (const name of ["", "Audit", "audit-log", "1st", 5 as unknown as string]) {
      expect(() => definePlugin({ name, start })).to.throw(TypeError, "lower-case letters, digits and _");
    }
    expect(() => definePlugin({ name: "audit" } as never)).to.throw(
      TypeError,
      "audit must have a function start()",
    );
    expect(() => definePlugin({ name: "audit", needs: ["audit"], start })).to.throw(
      TypeError,
      "needs itself",
    );
  });
});
