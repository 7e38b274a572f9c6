import { z } from "zod";

const CURRENCIES = ["EUR", "USD", "CHF"] as const;
const DAY = /^\d{4}-\d\d-\d\d$/;
const POSTCODE = /^[0-9A-Z -]{3,10}$/;

/** A body of twelve members. */
export const Order = z.strictObject({
  id: z.string().min(1).max(64),
  customer: z.string().min(1).max(200),
  email: z.string().max(254).regex(/@/),
  currency: z.enum(CURRENCIES),
  amount: z.number().min(0),
  quantity: z.int().min(1).max(1000),
  express: z.boolean(),
  note: z.string().max(500),
  ordered_on: z.string().regex(DAY),
  tags: z.array(z.string().max(40)).max(10),
  street: z.string().min(1).max(200),
  postcode: z.string().regex(POSTCODE),
});

export type Order = z.output<typeof Order>;

/** One fault, as in a problem document. */
export interface Fault {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
}

type Check = (value: unknown) => boolean;

const text =
  (least: number, most: number, pattern?: RegExp): Check =>
  (value) =>
    typeof value === "string" &&
    value.length >= least &&
    value.length <= most &&
    (pattern === undefined || pattern.test(value));

/** The same checks in handwritten code, as in an application without a schema. */
const CHECKS: Readonly<Record<string, Check>> = {
  id: text(1, 64),
  customer: text(1, 200),
  email: text(0, 254, /@/),
  currency: (value) => CURRENCIES.includes(value as "EUR"),
  amount: (value) => typeof value === "number" && value >= 0,
  quantity: (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 1000,
  express: (value) => typeof value === "boolean",
  note: text(0, 500),
  ordered_on: text(0, 10, DAY),
  tags: (value) => Array.isArray(value) && value.length <= 10 && value.every(text(0, 40)),
  street: text(1, 200),
  postcode: text(0, 10, POSTCODE),
};
const CHECK_LIST = Object.entries(CHECKS);

/** Returns the faults of a body. */
export function faultsOf(body: unknown): readonly Fault[] {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    return [{ type: "type", loc: ["body"], msg: "must be an object" }];
  const members = body as Readonly<Record<string, unknown>>;
  const faults: Fault[] = [];
  for (const [name, check] of CHECK_LIST) {
    if (!check(members[name])) faults.push({ type: "value", loc: ["body", name], msg: "is invalid" });
  }
  for (const name of Object.keys(members)) {
    if (!Object.hasOwn(CHECKS, name))
      faults.push({ type: "unknown", loc: ["body", name], msg: "is unknown" });
  }
  return faults;
}

/** Returns a valid body as JSON; `index` makes it differ from others. */
export function orderText(index: number): string {
  return JSON.stringify(orderOf(index));
}

/** Returns a body with two faults as JSON. */
export function refusedText(index: number): string {
  return JSON.stringify({ ...orderOf(index), currency: "XXX", quantity: "many" });
}

function orderOf(index: number): Order {
  return {
    id: `order-${index}`,
    customer: "A customer with a name",
    email: `customer-${index}@shop.example`,
    currency: CURRENCIES[index % 3] ?? "EUR",
    amount: 12.5 + index,
    quantity: 1 + index,
    express: index % 2 === 0,
    note: "Please ring twice",
    ordered_on: "2026-03-01",
    tags: ["new", "web"],
    street: "1 Harbour Road",
    postcode: "AB1 2CD",
  };
}
