import { nearestName } from "./nearest.ts";

/** Longer names are not compared, so that the work is bounded; option names are short. */
const LONGEST = 100;
const MOST_NAMES = 3;

const TIME_UNITS = wordSet(
  "ms millis millisecond milliseconds s sec secs second seconds minute minutes hour hours day days",
);
const UNITS = new Set([...TIME_UNITS, ...wordSet("byte bytes kb kib mb mib")]);

/** Words that change the meaning of a name: neither name may have one that the other name lacks. */
const CHANGING = wordSet(
  "no not non never disable skip ignore any all without except exclude deny allow insecure unsafe " +
    "old previous new next public private dev test",
);
/** Words for the purpose of a key or URL: a name that has one never stands for a name that lacks it. */
const PURPOSES = wordSet("secret signing hash encryption jwks redirect callback logout issuer cookie");

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
  ["disable", "disabled"],
  ["skip", "skipped"],
  ["ignore", "ignored"],
  ["exclude", "excluded"],
  ["allow", "allowed"],
] as const;

const CANONICAL: ReadonlyMap<string, string> = new Map(
  SYNONYMS.flatMap(([first, ...others]) => others.map((other) => [other, first] as const)),
);

/** The word for a number of attempts; a name that ends in it and has no unit never stands for a time. */
const COUNT = "retries";

/**
 * Returns the known names that an unknown name probably stands for: misspelt, without its unit or with another unit, with
 * a synonym, or with some of its words (`timeout` for `commandTimeoutMs`). Returns at most three names; none if more
 * than three fit equally well. Names with another meaning, such as `auth` for `noAuth`, are left out.
 *
 * @param given names that already have a value: only a misspelt name probably stands for one of them
 */
export function meantNames(
  name: string,
  known: readonly string[],
  given: readonly string[],
): readonly string[] {
  if (name.length > LONGEST) return [];
  const unknown = entryOf(name);
  const wanted = unknown.words;
  const entries = known
    .filter((each) => each.length <= LONGEST)
    .map(entryOf)
    .filter((each) => mayMean(unknown, each));
  const namesOf = (found: readonly Entry[]): readonly string[] => found.map((entry) => entry.name);
  const same = namesOf(entries.filter(({ words }) => words.join("") === wanted.join("")));
  const typo = nearestName(name, same.length > 0 ? same : namesOf(entries));
  if (typo !== undefined) return [typo];
  for (const found of [same, misspelt(wanted, entries), longer(wanted, entries), shorter(wanted, entries)]) {
    const free = found.filter((each) => !given.includes(each));
    if (free.length > 0) return free.length > MOST_NAMES ? [] : free;
  }
  return [];
}

interface Entry {
  readonly name: string;
  /** The words without a trailing unit, each replaced by the first of its synonyms. */
  readonly words: readonly string[];
  readonly isTime: boolean;
}

function mayMean(unknown: Entry, known: Entry): boolean {
  if (unknown.words.at(-1) === COUNT && !unknown.isTime && known.isTime) return false;
  if (unknown.words.join("") === known.words.join("")) return true;
  const lacks = ({ words }: Entry, { words: others }: Entry, marked: ReadonlySet<string>): boolean =>
    others.some((word) => marked.has(word) && !words.includes(word));
  return (
    !lacks(known, unknown, CHANGING) && !lacks(unknown, known, CHANGING) && !lacks(known, unknown, PURPOSES)
  );
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

// The last word of a name states its kind: `redisUrl` is a URL.
function shorter(wanted: readonly string[], entries: readonly Entry[]): readonly string[] {
  return entries.filter(({ words }) => endsWith(wanted, words)).map(({ name }) => name);
}

function startsWith(words: readonly string[], first: readonly string[]): boolean {
  return first.length > 0 && first.every((word, index) => words[index] === word);
}

function endsWith(words: readonly string[], last: readonly string[]): boolean {
  return last.length > 0 && last.every((word, index) => words[words.length - last.length + index] === word);
}

function entryOf(name: string): Entry {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== "");
  const last = words.at(-1);
  const hasUnit = words.length > 1 && last !== undefined && UNITS.has(last);
  if (hasUnit) words.pop();
  return {
    name,
    words: words.map((word) => CANONICAL.get(word) ?? word),
    isTime: hasUnit && TIME_UNITS.has(last),
  };
}

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}
