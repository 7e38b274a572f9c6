import type { Filter, Meta } from "@svc/search-store";
import { expect } from "chai";
import type { useBackends } from "../support/backends.ts";
import { seeded } from "../support/random.ts";

const METAS: readonly Meta[] = [
  {},
  { kind: "taxi", price: 5, paid: true, at: "2026-01-31" },
  { kind: "taxi", price: 5.5, paid: false, at: "2026-02-01" },
  { kind: "Taxi", price: -1, paid: null },
  { kind: "5", price: "5" },
  { kind: ["taxi"], price: { amount: 5 } },
  { kind: null, price: 1e21, at: "2026-02-01T10:00:00Z" },
  JSON.parse('{"__proto__":"x","constructor":1}') as Meta,
  { "o'r": "a", 'say "x"': "b", "a\\b": "c", $1: "d", "Z; drop table svc_chunks --": "e" },
  { "": "nothing", "é 🚕": "🚕", price: 0 },
];
const KEYS = [...new Set(METAS.flatMap((meta) => Object.keys(meta))), "absent"];
const SCALARS = METAS.flatMap((meta) => Object.values(meta)).filter(
  (value) => value === null || typeof value !== "object",
);

export function filterCases(backends: ReturnType<typeof useBackends>): void {
  it("SEARCH-1 finds the same chunks as a comparison in JavaScript, for any keys and values", async () => {
    for (const backend of backends.all.slice(-1)) {
      const store = await backend.store({ filterKeys: ["kind", "o'r"] });
      const chunks = METAS.map((meta, n) => ({ content: `chunk ${n}`, meta, embedding: [1, n, 0] }));
      await store.ingest("a", "d", chunks);
      const random = seeded(7);
      for (let round = 0; round < 120; round++) {
        const filter = randomFilter(random, 0);
        const { chunks: found } = await store.list("a", { filter });
        const wanted = METAS.flatMap((meta, n) => (holds(filter, meta) ? [n] : []));
        expect(
          found.map(({ ordinal }) => ordinal),
          JSON.stringify(filter),
        ).to.deep.equal(wanted);
      }
    }
  });
}

function pick<T>(random: () => number, of: readonly T[]): T {
  return of[Math.floor(random() * of.length)] as T;
}

function randomFilter(random: () => number, depth: number): Filter {
  const some = (): Filter[] =>
    Array.from({ length: Math.floor(random() * 3) }, () => randomFilter(random, depth + 1));
  const roll = random();
  if (depth < 3 && roll < 0.15) return { and: some() };
  if (depth < 3 && roll < 0.35) return { or: some() };
  if (depth < 3 && roll < 0.5) return { not: randomFilter(random, depth + 1) };
  const key = pick(random, KEYS);
  const value = pick(random, SCALARS) as string;
  const ordered = pick(
    random,
    SCALARS.filter((each) => typeof each === "string" || typeof each === "number"),
  ) as string;
  const comparison = pick(random, [
    value,
    { eq: value },
    { in: [value, pick(random, SCALARS) as string] },
    { in: [] },
    { exists: random() < 0.5 },
    { gt: ordered },
    { gte: ordered },
    { lt: ordered },
    { lte: ordered, exists: true },
  ]);
  return { [key]: comparison };
}

/** Evaluates a filter in JavaScript, independently of the code under test. */
function holds(filter: Filter, meta: Meta): boolean {
  return Object.entries(filter).every(([key, value]) => {
    if (key === "and") return (value as readonly Filter[]).every((each) => holds(each, meta));
    if (key === "or") return (value as readonly Filter[]).some((each) => holds(each, meta));
    if (key === "not") return !holds(value as Filter, meta);
    const stored = Object.hasOwn(meta, key) ? meta[key] : undefined;
    const asked: object = typeof value === "object" && value !== null ? value : { eq: value };
    return Object.entries(asked).every(([operator, operand]: [string, unknown]) => {
      if (operator === "exists") return (stored !== undefined) === operand;
      if (operator === "eq") return stored === operand;
      if (operator === "in") return (operand as unknown[]).includes(stored);
      if (typeof stored !== typeof operand) return false;
      const order = compare(stored as string, operand as string);
      return { gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[operator];
    });
  });
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}
