import { type CommandLine, defineCommandLine, oneOf, type Reader, wholeNumber } from "@svc/cli-options";
import { type Algorithm, algorithms, isSymmetric } from "@svc/jwt-auth";
import { readKeyFile, ringFile, whileLocked, writeKeyFile } from "./key-file.ts";
import { generateKey, type KeyMaterial, pemMaterial, secretMaterial } from "./key-material.ts";
import { KeyRingError } from "./key-ring-error.ts";
import { keyTable } from "./key-table.ts";
import { notesOf } from "./live-ring.ts";
import { contractLifetimes, currentOf, type RingDocument } from "./ring-document.ts";
import { addKey, dueAt, newRing, promoteKey, retireKey } from "./ring-rules.ts";
import { readRing, writeRing } from "./ring-text.ts";

const path: Reader<string> = (value, flag) => {
  if (value === "") throw new Error(`${flag} is empty`);
  return value;
};
const algorithmName = oneOf(algorithms);
const seconds = (min: number): Reader<number> => wholeNumber(min, 1e10);

const commandLine = defineCommandLine({
  name: "svc-keys",
  code: "ERR_SVC_KEYS_USAGE",
  about: "Manages the signing keys of a token issuer in a file.",
  commands: {
    init: { meaning: "creates the file with a first key that signs immediately" },
    add: { meaning: "announces another key, which does not sign yet" },
    list: { meaning: "shows the keys, and when each may be promoted or retired" },
    promote: {
      operands: ["[KID]"],
      meaning: "makes the announced key sign; the previous key then only verifies",
    },
    retire: {
      operands: ["KID"],
      meaning: "retires a key once all of its tokens have expired",
      or: ["due", "retires every such key"],
      needs: "the kid of a key, or --due",
    },
  },
  settings: {
    file: {
      value: "PATH",
      read: path,
      default: "keys.json",
      meaning: "the file, or a directory with keys.json in it",
    },
    algorithm: {
      of: ["init", "add"],
      value: "NAME",
      read: algorithmName,
      shown: "RS256; for add, that of the current key",
      meaning: `${algorithms.slice(0, 6).join(" ")}\n${algorithms.slice(6).join(" ")}`,
    },
    from: {
      of: ["init", "add"],
      value: "PATH",
      read: path,
      meaning: "uses this key, a private PEM or a secret, instead of generating one",
    },
    rsaBits: {
      of: ["init", "add"],
      value: "BITS",
      read: wholeNumber(2048, 8192),
      shown: "2048",
      meaning: "2048 to 8192",
    },
    accessSeconds: {
      of: ["init"],
      value: "N",
      read: seconds(1),
      default: contractLifetimes.accessSeconds,
      meaning: "lifetime of access tokens",
    },
    refreshSeconds: {
      of: ["init"],
      value: "N",
      read: seconds(1),
      default: contractLifetimes.refreshSeconds,
      meaning: "lifetime of refresh tokens",
    },
    leewaySeconds: {
      of: ["init"],
      value: "N",
      read: seconds(0),
      default: contractLifetimes.leewaySeconds,
      meaning: "clock skew that services allow",
    },
    force: { of: ["promote"], meaning: "promotes the key even if it was added less than 120 s ago" },
    now: {
      of: ["retire"],
      meaning: "retires even a key with valid tokens, or the current key (the announced key then signs)",
    },
    due: { of: ["retire"] },
    json: { meaning: "prints JSON" },
  },
  check: ({ due, now, operands }) =>
    due && (now || operands.length > 0) ? "--due cannot be combined with a kid or --now" : undefined,
  exitCodes:
    "Exit code: 0 done, 1 refused or failed, 2 invalid usage. Private keys and secrets are never shown.",
});
type KeyCommand = NonNullable<ReturnType<typeof commandLine.parse>>;

/** The command line of `svc-keys`. */
export const svcKeys: CommandLine = commandLine;

/**
 * Runs one command of `svc-keys`.
 *
 * @param given the arguments after the name of the program
 * @param now the clock, in milliseconds since the Unix epoch
 * @returns the text for the standard output; never a private key or a secret
 * @throws InvalidUse for invalid arguments, KeyRingError when the change is rejected
 */
export async function runKeyCommand(given: readonly string[], now: () => number): Promise<string> {
  const command = commandLine.parse(kidsLast(given));
  if (command === undefined) return commandLine.usage;
  const file = ringFile(command.file);
  const before = command.command === "init" ? undefined : await open(file);
  if (command.command === "list") return shown(command, file, before, [], now());
  // Generating a long key takes seconds, so do it before locking the file.
  const change = await changeFor(command, before, now);
  return whileLocked(file, async () => {
    const found = before === undefined ? undefined : await open(file);
    const document = change(found);
    const text = writeRing(document);
    // Never replace a readable ring with an unreadable one.
    readRing(text, "local");
    if (found === undefined || text !== writeRing(found)) await writeKeyFile(file, text, found === undefined);
    return shown(command, file, document, changedKeys(found, document), now());
  });
}

// A kid may begin with a dash and would be parsed as a flag.
function kidsLast(given: readonly string[]): readonly string[] {
  const kids = given.filter((each) => /^-[\w-]{42}$/.test(each));
  return kids.length === 0 ? given : [...given.filter((each) => !kids.includes(each)), "--", ...kids];
}

type Change = (document: RingDocument | undefined) => RingDocument;

async function changeFor(
  command: KeyCommand,
  before: RingDocument | undefined,
  now: () => number,
): Promise<Change> {
  const { operands, force, due } = command;
  const [kid] = operands;
  if (command.command === "promote") return (document) => promoteKey(need(document), now(), { kid, force });
  if (command.command === "retire") {
    if (due) return (document) => retireDue(need(document), now());
    return (document) => retireKey(need(document), kid ?? "", now(), { immediately: command.now });
  }
  const material = await newKey(command, before);
  const { accessSeconds, refreshSeconds, leewaySeconds } = command;
  if (before === undefined)
    return () => newRing(material, now(), { accessSeconds, refreshSeconds, leewaySeconds });
  return (document) => addKey(need(document), material, now());
}

async function newKey(command: KeyCommand, before: RingDocument | undefined): Promise<KeyMaterial> {
  if (command.from !== undefined) return foreignKey(await readKeyFile(command.from), command.algorithm);
  const algorithm = command.algorithm ?? (before === undefined ? "RS256" : currentOf(before).algorithm);
  if (before !== undefined && isSymmetric(algorithm) !== isSymmetric(currentOf(before).algorithm))
    throw new KeyRingError(
      "wrong_state",
      `${algorithm} needs a separate ring: secrets and key pairs do not mix`,
    );
  return generateKey({ algorithm, rsaBits: command.rsaBits });
}

/** Reads an imported key: a PEM or a secret. Drops the final newline of a secret, which an editor may have added. */
function foreignKey(text: string, algorithm: Algorithm | undefined): KeyMaterial {
  const isSecret = algorithm === undefined ? !text.includes("-----BEGIN") : isSymmetric(algorithm);
  if (!isSecret) return pemMaterial(text, algorithm);
  return secretMaterial(text.replace(/\r?\n$/, ""), algorithm ?? "HS256", "prod");
}

function retireDue(document: RingDocument, now: number): RingDocument {
  return document.keys
    .filter((key) => key.state === "previous" && now >= (dueAt(key, document.lifetimes) ?? Infinity))
    .reduce((left, key) => retireKey(left, key.kid, now), document);
}

async function open(file: string): Promise<RingDocument> {
  return readRing(await readKeyFile(file), "local");
}

function need(document: RingDocument | undefined): RingDocument {
  if (document === undefined) throw new KeyRingError("unreadable", "the file has no key ring");
  return document;
}

function changedKeys(before: RingDocument | undefined, after: RingDocument): readonly string[] {
  const stateOf = new Map(before?.keys.map((key) => [key.kid, key.state]));
  return after.keys.filter((key) => stateOf.get(key.kid) !== key.state).map((key) => key.kid);
}

function shown(
  { command, json }: KeyCommand,
  file: string,
  document: RingDocument | undefined,
  changed: readonly string[],
  now: number,
): string {
  const { lifetimes } = need(document);
  const keys = notesOf(need(document));
  if (json) return `${JSON.stringify({ file, lifetimes, changed, keys }, undefined, 2)}\n`;
  const table = keyTable(keys, now);
  if (command === "list") return table;
  return `${changed.length === 0 ? "nothing to do" : `${file} is written`}\n\n${table}`;
}
