import { isObject } from "./answer.ts";
import { algorithms } from "./option-values.ts";
import { isShape, type Member, membersOf, type Shape } from "./options.ts";

/** A timer of Node.js with a longer time fires at once. */
const mostSeconds = 2_147_483;

/** For each kind: the requirement in words, and a function that tests a value. Other kinds accept every value. */
export const kinds: Readonly<Record<string, readonly [must: string, accepts: (value: unknown) => boolean]>> =
  {
    text: ["must be a string", (value) => typeof value === "string"],
    name: ["must be a non-empty string", (value) => typeof value === "string" && value !== ""],
    texts: ["must be a list of strings", areTexts],
    algorithm: [`is required: one of ${algorithms.join(", ")}`, isAlgorithm],
    algorithms: ["must be a list of strings", areTexts],
    features: ["must be a list of strings", areTexts],
    profile: ["must be full or reduced", (value) => typeof value === "string"],
    log: ["must be a path or a function", (value) => ["string", "function"].includes(typeof value)],
    sources: ["must be a list of strings", areTexts],
    number: ["must be a number", isFiniteNumber],
    amount: ["must be a number of at least 0", (value) => isFiniteNumber(value) && value >= 0],
    seconds: [
      `must be a number above 0, at most ${mostSeconds}`,
      (value) => isFiniteNumber(value) && value > 0 && value <= mostSeconds,
    ],
    count: [
      "must be a whole number from 1 to 100",
      (value) => isFiniteNumber(value) && Number.isInteger(value) && value >= 1 && value <= 100,
    ],
    boolean: ["must be true or false", (value) => typeof value === "boolean"],
    request: ['must be "/path" or { path }', isProbe],
  };

function isFiniteNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

function isAlgorithm(value: unknown): boolean {
  return (algorithms as readonly unknown[]).includes(value);
}

/** Returns whether a value is a list of strings. */
export function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** Returns whether a value is a path or a request. */
export function isProbe(value: unknown): boolean {
  const path = isObject(value) ? value["path"] : value;
  return typeof path === "string" && /^(?:[A-Z]+ )?(?:\/|https?:)/.test(path);
}

/** Returns an option's name as files spell it. */
export function fileName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Returns the faults of an object and of its nested objects.
 * @param at prefix of member names in a fault
 * @param spell returns a member's name as the user writes it
 */
export function shapeFaults(
  shape: Shape,
  at: string,
  object: unknown,
  spell: (name: string) => string = String,
): readonly string[] {
  if (!isObject(object)) return [`${at.replace(/\.$/, ":").trim()} is not an object`];
  const given = Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
  const members = Object.entries(membersOf(shape));
  return [
    ...unknownNames(shape, at, given, spell),
    ...members.flatMap(([name, member]) =>
      memberFaults(member, `${at}${spell(name)}`, given[spell(name)], spell),
    ),
  ];
}

/** Returns the faults of one member. */
export function memberFaults(
  { kind, required }: Member,
  name: string,
  value: unknown,
  spell?: (name: string) => string,
): readonly string[] {
  // A missing algorithm has the same fault as an unknown one, which lists all of them.
  if (value === undefined && kind !== "algorithm") return required === true ? [`${name}: is required`] : [];
  if (isShape(kind)) return shapeFaults(kind, `${name}.`, value, spell);
  const [must, accepts] = kinds[kind] ?? ["must not be null", (each: unknown): boolean => each !== null];
  return accepts(value) ? [] : [`${name}: ${must}`];
}

/** Returns a fault for each member that the definition does not have. */
export function unknownNames(
  shape: Shape,
  at: string,
  given: object,
  spell: (name: string) => string = String,
  more: readonly string[] = [],
): readonly string[] {
  const members = Object.entries(membersOf(shape)).filter(
    ([, { fileOnly }]) => spell === fileName || fileOnly !== true,
  );
  const known = [...members.map(([name]) => spell(name)), ...more];
  return Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => `${at}${name}: is unknown; expected one of ${known.join(", ")}`);
}
