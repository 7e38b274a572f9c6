import { defineCommandLine, InvalidUse, oneOf, text, wholeNumber } from "@svc/cli-options";
import { expect } from "chai";

const colour = oneOf(["red", "green"]);
const notes = defineCommandLine({
  name: "notes",
  code: "ERR_NOTES_USAGE",
  about: "Keeps notes.",
  commands: {
    add: { operands: ["TEXT"], meaning: "adds a note", needs: "the text of the note" },
    drop: { operands: ["ID..."], meaning: "removes notes", or: ["all", "all of them"] },
    show: { operands: ["[ID]"], meaning: "prints notes" },
  },
  settings: {
    maxCount: { of: ["show"], value: "N", read: wholeNumber(1, 9), default: 5, meaning: "how many" },
    colour: { of: ["add"], value: "NAME", read: colour, required: true, meaning: "red\ngreen" },
    tag: { value: "TAG", read: text, multiple: true, meaning: "a tag" },
    all: { of: ["drop"] },
    store: { variable: "NOTES_URL", read: text, required: true, meaning: "the address of the store" },
  },
  check: ({ all, operands }) =>
    all && operands.length > 0 ? "--all cannot be combined with ids" : undefined,
  exitCodes: "Exit code: 0.",
});
const copy = defineCommandLine({
  name: "copy",
  code: "ERR_COPY_USAGE",
  about: "Copies a file.",
  commands: { "": { operands: ["FROM", "TO"], meaning: "" } },
  settings: { force: { meaning: "over an existing file" } },
  exitCodes: "Exit code: 0.",
});
const environment = { NOTES_URL: "memory:" };

describe("the command-line parser", () => {
  it("returns the command, its arguments and the value of each setting", () => {
    const given = notes.parse(["add", "milk", "--colour=red", "--tag", "a", "--tag", "b"], environment);
    expect(given).to.deep.equal({
      command: "add",
      operands: ["milk"],
      maxCount: 5,
      colour: "red",
      tag: ["a", "b"],
      all: false,
      store: "memory:",
    });
    expect(notes.parse(["show", "--max-count", "2"], environment)).to.include({ maxCount: 2 });
    expect(notes.parse(["drop", "--all"], environment)).to.deep.include({ operands: [], all: true });
    expect(copy.parse(["a", "b", "--force"])).to.deep.equal({
      command: "",
      operands: ["a", "b"],
      force: true,
    });
  });

  it("returns undefined when the help is requested", () => {
    for (const given of [[], ["--help"], ["show", "--help", "--all"]]) {
      expect(notes.parse(given), given.join(" ")).to.equal(undefined);
    }
    expect(copy.parse(["--help"])).to.equal(undefined);
  });

  const faults: readonly (readonly [readonly string[], string])[] = [
    [["shwo"], "shwo is not a command; did you mean show?"],
    [["x"], "x is not a command; expected one of add, drop, show"],
    [["--tag", "a"], "a command is missing; expected one of add, drop, show"],
    [["show", "--max-cuont", "2"], "Unknown option '--max-cuont'; did you mean --max-count?"],
    [
      ["show", "--zzz"],
      "Unknown option '--zzz'; expected one of --max-count, --colour, --tag, --all, --help",
    ],
    [["show", "--max-count"], "Option '--max-count <value>' argument missing"],
    [["show", "--max-count", "10"], "--max-count must be a whole number from 1 to 9"],
    [["show", "--all"], "show does not accept --all"],
    [["show", "a", "b"], "unexpected argument b"],
    [["add", "--colour", "red"], "add needs the text of the note"],
    [["add", "milk"], "add needs --colour NAME"],
    [["add", "milk", "--colour", "gren"], "--colour must be one of red, green; did you mean green?"],
    [["drop"], "drop needs ID..."],
    [["drop", "a", "--all"], "--all cannot be combined with ids"],
  ];
  for (const [given, message] of faults) {
    it(`rejects the command line "notes ${given.join(" ")}"`, () => {
      expect(() => notes.parse(given, environment))
        .to.throw(InvalidUse, message)
        .with.property("code", "ERR_NOTES_USAGE");
    });
  }

  it("rejects a missing variable, and missing arguments in a program without commands", () => {
    for (const missing of [{}, { NOTES_URL: "" }]) {
      expect(() => notes.parse(["show"], missing)).to.throw("NOTES_URL must be the address of the store");
    }
    expect(() => copy.parse(["a"])).to.throw(InvalidUse, "copy needs FROM TO");
  });

  it("shows commands and flags in the help", () => {
    expect(notes.usage).to.equal(`Usage: notes <command> [options]

Keeps notes.

  add TEXT             adds a note
  drop ID...           removes notes
  drop --all           all of them
  show [ID]            prints notes

  --max-count N        show: how many (5)
  --colour NAME        add: red
                       green
  --tag TAG            a tag
  --help

Exit code: 0.
`);
    expect(copy.usage).to.match(/^Usage: copy FROM TO \[options\]\n\nCopies a file\.\n\n {2}--force /);
  });

  it("does not read the variable of a setting that the command does not accept", () => {
    const send = defineCommandLine({
      name: "send",
      code: "ERR_SEND_USAGE",
      about: "Sends files.",
      commands: { list: { meaning: "" }, run: { meaning: "" } },
      settings: { retries: { of: ["run"], variable: "SEND_RETRIES", read: wholeNumber(1, 9), default: 3 } },
      exitCodes: "",
    });
    const wrong = { SEND_RETRIES: "many" };
    expect(send.parse(["list"], wrong)).to.include({ retries: 3 });
    expect(() => send.parse(["run"], wrong)).to.throw(InvalidUse, "SEND_RETRIES must be a whole number");
    expect(send.parse(["run"], { SEND_RETRIES: "5" })).to.include({ retries: 5 });
  });

  it("lists commands, flags and variables for a README", () => {
    expect(notes.markdown).to.equal(`| command | what it does |
| --- | --- |
| \`add TEXT\` | adds a note |
| \`drop ID...\` | removes notes |
| \`drop --all\` | all of them |
| \`show [ID]\` | prints notes |

| flag or variable | of | default | meaning |
| --- | --- | --- | --- |
| \`--max-count N\` | \`show\` | \`5\` | how many |
| \`--colour NAME\` | \`add\` |  | red green |
| \`--tag TAG\` |  |  | a tag |
| \`NOTES_URL\` |  |  | the address of the store |`);
    expect(copy.markdown).to.match(/^\| flag or variable/);
  });

  it("reports errors as text or JSON, with exit code 2 for invalid use and 1 for other errors", () => {
    const wrong = new InvalidUse("ERR_NOTES_USAGE", "wrong");
    const details = { code: "ERR_NOTES", message: "wrong" };
    expect(notes.failure(wrong, { ...details, json: false })).to.deep.equal({
      text: "notes: wrong\nrun notes --help for more\n",
      exitCode: 2,
    });
    expect(notes.failure(new Error(), { ...details, json: false })).to.deep.equal({
      text: "notes: wrong\n",
      exitCode: 1,
    });
    expect(notes.failure(wrong, { ...details, json: true }).text).to.equal(
      '{"code":"ERR_NOTES_USAGE","message":"wrong"}\n',
    );
    expect(notes.failure(new Error(), { ...details, json: true, reason: "full" }).text).to.equal(
      '{"code":"ERR_NOTES","reason":"full","message":"wrong"}\n',
    );
  });
});
