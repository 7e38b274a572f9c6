import { defineCommandLine, text, wholeNumber } from "@svc/cli-options";
import { expect } from "chai";

const definition = { name: "a", code: "E", about: "", commands: { go: { meaning: "" } }, exitCodes: "" };

describe("the types of defineCommandLine()", () => {
  it("give each setting the type of its reader, and undefined where it may be missing", () => {
    const program = defineCommandLine({
      ...definition,
      settings: {
        limit: { read: wholeNumber(1, 9), default: 5 },
        tags: { read: text, multiple: true, default: ["a"] },
        more: { read: text, multiple: true },
        url: { variable: "URL", read: text, required: true },
        file: { of: ["run"], read: text, required: true },
        force: {},
      },
    });
    const given = program.parse(["go"], { URL: "u" });
    if (given === undefined) return expect.fail("is the help");
    const all: readonly [number, readonly string[], readonly string[] | undefined, string, boolean] = [
      given.limit,
      given.tags,
      given.more,
      given.url,
      given.force,
    ];
    expect(all).to.deep.equal([5, ["a"], undefined, "u", false]);
    // @ts-expect-error: another command does not have the file.
    const file: string = given.file;
    expect(file).to.equal(undefined);
    // @ts-expect-error: a setting without a default may be missing.
    const more: readonly string[] = given.more;
    expect(more).to.equal(undefined);
  });

  it("reject a default of another type than the reader's", () => {
    // @ts-expect-error: the reader returns a number.
    defineCommandLine({ ...definition, settings: { limit: { read: wholeNumber(1, 9), default: "5" } } });
    // @ts-expect-error: the value is a list.
    defineCommandLine({ ...definition, settings: { tags: { read: text, multiple: true, default: "a" } } });
    // @ts-expect-error: a flag without a reader is false.
    defineCommandLine({ ...definition, settings: { force: { default: "yes" } } });
  });
});
