import {
  boolean,
  func,
  type Fault,
  type Kind,
  listOf,
  objectWith,
  optional,
  type OptionalKind,
  oneOf,
  string,
} from "@svc/options";
import { type PluginParts, stopPhases } from "./slots.ts";

const middleware = optional(func());

/** Returns whether a value is a phase with a hook. */
export function isStop(value: unknown): value is NonNullable<PluginParts["stop"]> {
  if (!Array.isArray(value) || value.length !== 2) return false;
  return oneOf(...stopPhases).accepts(value[0]) && typeof value[1] === "function";
}

/** Returns a kind that accepts objects whose members have the given kinds. */
function shaped(expects: string, members: Readonly<Record<string, Kind<unknown>>>): Kind<object> {
  return {
    expects,
    accepts: (value): value is object =>
      typeof value === "object" &&
      value !== null &&
      Object.entries(members).every(([name, kind]) => kind.accepts((value as Record<string, unknown>)[name])),
  };
}

const route = shaped('an object such as { path: "/status", handler }', {
  path: string({ pattern: /^\//, expects: "a path" }),
  handler: func(),
});
const check = shaped("a readiness check such as { name, critical: false, check() }", {
  name: string(),
  critical: boolean(),
  check: func(),
});
const schema = shaped("a table such as { key, ensureSchema() }", { key: string(), ensureSchema: func() });
const schedule = shaped("a schedule such as { everySeconds: 60, task }", { task: string() });
const part = shaped("a background component such as { name, start(), stop() }", {
  name: string(),
  start: func(),
  stop: func(),
});

const schedules: Kind<object> = {
  expects: "an object of schedules by name",
  accepts: (value): value is object =>
    typeof value === "object" &&
    value !== null &&
    Object.values(value).every((each) => schedule.accepts(each)),
};
const handlers: Kind<object> = {
  expects: "an object of functions by task",
  accepts: (value): value is object =>
    typeof value === "object" &&
    value !== null &&
    Object.values(value).every((each) => typeof each === "function"),
};

/** The kind that validates the value of each slot. */
const slots: { readonly [N in keyof PluginParts]-?: OptionalKind<unknown, undefined> } = {
  parts: optional(objectWith("an object of parts by name")),
  offers: optional(objectWith("an object of objects by name")),
  edge: middleware,
  identity: middleware,
  admission: middleware,
  hasOwnLimits: middleware,
  behindBody: middleware,
  page: middleware,
  routes: optional(listOf(route)),
  checks: optional(listOf(check)),
  info: optional(objectWith("an object or a function")),
  schemas: optional(listOf(schema)),
  handlers: optional(handlers),
  schedules: optional(schedules),
  work: optional(listOf(part)),
  stop: optional({ expects: "a pair of a phase and a function", accepts: isStop }),
  finish: middleware,
};

/** Returns the faults in the shape of the result of a plugin's `start()` or `finish()`. */
export function faultsOfParts(name: string, made: unknown): readonly Fault[] {
  const key = `plugin.${name}`;
  if (typeof made !== "object" || made === null || Array.isArray(made)) {
    return [{ key, message: "must return an object of parts" }];
  }
  return Object.entries(made).flatMap(([slot, value]): Fault[] => {
    const kind = Object.hasOwn(slots, slot) ? slots[slot as keyof PluginParts] : undefined;
    if (kind === undefined) {
      return [
        {
          key,
          message: `returned ${slot}, which is unknown; expected one of ${Object.keys(slots).join(", ")}`,
        },
      ];
    }
    if (value === undefined || kind.accepts(value)) return [];
    return [{ key, message: `returned invalid ${slot}: must be ${kind.expects}` }];
  });
}
