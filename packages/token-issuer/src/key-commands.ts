import type { Algorithm } from "@svc/jwt-auth";
import { readKeyCommand, type KeyCommand, usage } from "./command-arguments.ts";
import { readKeyFile, ringFile, whileLocked, writeKeyFile } from "./key-file.ts";
import {
  generateKey,
  isSecretAlgorithm,
  type KeyMaterial,
  pemMaterial,
  secretMaterial,
} from "./key-material.ts";
import { KeyRingError } from "./key-ring-error.ts";
import { keyTable } from "./key-table.ts";
import { notesOf } from "./live-ring.ts";
import { currentOf, type RingDocument } from "./ring-document.ts";
import { addKey, dueAt, newRing, promoteKey, retireKey } from "./ring-rules.ts";
import { readRing, writeRing } from "./ring-text.ts";

/**
 * Runs one command of `svc-keys`.
 *
 * @param given the arguments after the name of the program
 * @param now the clock, in milliseconds since the Unix epoch
 * @returns the text for the standard output; never a private key or a secret
 * @throws InvalidUse for invalid arguments, KeyRingError when the change is rejected
 */
export async function runKeyCommand(given: readonly string[], now: () => number): Promise<string> {
  const command = readKeyCommand(given);
  if (command.command === "help") return usage;
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

type Change = (document: RingDocument | undefined) => RingDocument;

async function changeFor(
  command: KeyCommand,
  before: RingDocument | undefined,
  now: () => number,
): Promise<Change> {
  const { kid, force, due, lifetimes } = command;
  if (command.command === "promote") return (document) => promoteKey(need(document), now(), { kid, force });
  if (command.command === "retire") {
    if (due) return (document) => retireDue(need(document), now());
    return (document) => retireKey(need(document), kid ?? "", now(), { immediately: command.now });
  }
  const material = await newKey(command, before);
  if (before === undefined) return () => newRing(material, now(), lifetimes);
  return (document) => addKey(need(document), material, now());
}

async function newKey(command: KeyCommand, before: RingDocument | undefined): Promise<KeyMaterial> {
  if (command.from !== undefined) return foreignKey(await readKeyFile(command.from), command.algorithm);
  const algorithm = command.algorithm ?? (before === undefined ? "RS256" : currentOf(before).algorithm);
  if (before !== undefined && isSecretAlgorithm(algorithm) !== isSecretAlgorithm(currentOf(before).algorithm))
    throw new KeyRingError(
      "wrong_state",
      `${algorithm} needs a ring of its own: secrets and key pairs do not mix`,
    );
  return generateKey({ algorithm, rsaBits: command.rsaBits });
}

/** Reads an imported key: a PEM, else a secret without the final line end that an editor may have added. */
function foreignKey(text: string, algorithm: Algorithm | undefined): KeyMaterial {
  const isSecret = algorithm === undefined ? !text.includes("-----BEGIN") : isSecretAlgorithm(algorithm);
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
  if (document === undefined) throw new KeyRingError("unreadable", "there is no ring");
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
