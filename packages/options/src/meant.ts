import { nearestName } from "./nearest.ts";

/** Longer names are not compared, so that the work is bounded; option names are short. */
const LONGEST = 100;
const MOST_NAMES = 3;

const UNITS: ReadonlySet<string> = new Set(
  (
    "ms millis millisecond milliseconds s sec secs second seconds minute minutes hour hours day days " +
    "byte bytes kb kib mb mib"
  ).split(" "),
);

/** Words with the same meaning in the names of options; the first one represents the others. */
const SYNONYMS = [
  ["timeout", "deadline"],
  ["max", "maximum", "limit"],
  ["min", "minimum"],
  ["retries", "retry", "attempts", "tries"],
  ["interval", "every", "period"],
  ["ttl", "lifetime", "expiry", "expiration"],
  ["delay", "wait", "pause"],
  ["url", "uri"],
  ["host", "hostname"],
  ["user", "username"],
  ["password", "pass", "passwd", "pwd"],
  ["database", "db"],
  ["env", "environment"],
  ["connect", "connection"],
  ["logger", "log"],
  ["folder", "directory", "dir"],
  ["size", "length"],
] as const;

const CANONICAL: ReadonlyMap<string, string> = new Map(
  SYNONYMS.flatMap(([first, ...others]) => others.map((other) => [other, first] as const)),
);

/**
 * Returns the known names that an unknown name probably stands for: misspelt, without its unit or with another unit, with
 * a synonym, or with some of its words (`timeout` for `commandTimeoutMs`). Returns at most three names; none if more
 * than three fit equally well.
 */
export function meantNames(name: string, known: readonly string[]): readonly string[] {
  if (name.length > LONGEST) return [];
  const wanted = wordsOf(name);
  const entries = known
    .filter((each) => each.length <= LONGEST)
    .map((each) => ({ name: each, words: wordsOf(each) }));
  const same = entries.filter(({ words }) => words.join("") === wanted.join("")).map((entry) => entry.name);
  const typo = nearestName(name, same.length > 0 ? same : known);
  if (typo !== undefined) return [typo];
  for (const found of [same, misspelt(wanted, entries), longer(wanted, entries), shorter(wanted, entries)]) {
    if (found.length > 0) return found.length > MOST_NAMES ? [] : found;
  }
  return [];
}

interface Entry {
  readonly name: string;
  readonly words: readonly string[];
}

function misspelt(wanted: readonly string[], entries: readonly Entry[]): readonly string[] {
  const joined = entries.map(({ words }) => words.join(""));
  const nearest = nearestName(wanted.join(""), joined);
  return entries.filter((_, index) => joined[index] === nearest).map(({ name }) => name);
}

function longer(wanted: readonly string[], entries: readonly Entry[]): readonly string[] {
  return entries
    .filter(({ words }) => startsWith(words, wanted) || endsWith(words, wanted))
    .map(({ name }) => name);
}

// The last word of a name says what it is: `redisUrl` is a URL.
function shorter(wanted: readonly string[], entries: readonly Entry[]): readonly string[] {
  return entries.filter(({ words }) => endsWith(wanted, words)).map(({ name }) => name);
}

function startsWith(words: readonly string[], first: readonly string[]): boolean {
  return first.length > 0 && first.every((word, index) => words[index] === word);
}

function endsWith(words: readonly string[], last: readonly string[]): boolean {
  return last.length > 0 && last.every((word, index) => words[words.length - last.length + index] === word);
}

/** Returns the words of a name without a unit at its end, each as the word that represents its synonyms. */
function wordsOf(name: string): readonly string[] {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== "");
  const last = words.at(-1);
  if (words.length > 1 && last !== undefined && UNITS.has(last)) words.pop();
  return words.map((word) => CANONICAL.get(word) ?? word);
}
