import {
  func,
  type Fault,
  type Kind,
  listOf,
  objectWith,
  optional,
  type OptionalKind,
  oneOf,
} from "@svc/options";
import { type PluginParts, stopPhases } from "./slots.ts";

const middleware = optional(func());

/** Whether a value is a phase with a hook. */
export function isStop(value: unknown): value is NonNullable<PluginParts["stop"]> {
  if (!Array.isArray(value) || value.length !== 2) return false;
  return oneOf(...stopPhases).accepts(value[0]) && typeof value[1] === "function";
}

const route: Kind<unknown> = {
  expects: 'an object such as { path: "/status", handler }',
  accepts: (value): value is unknown => {
    const { path, handler } = (value ?? {}) as { readonly path?: unknown; readonly handler?: unknown };
    return typeof path === "string" && path.startsWith("/") && typeof handler === "function";
  },
};

/** The kind of each slot. */
const slots: { readonly [N in keyof PluginParts]-?: OptionalKind<unknown, undefined> } = {
  parts: optional(objectWith("an object of parts by name")),
  offers: optional(objectWith("an object of objects by name")),
  edge: middleware,
  identity: middleware,
  admission: middleware,
  behindBody: middleware,
  page: middleware,
  routes: optional(listOf(route)),
  checks: optional(listOf(objectWith<{ check(): void }>("a readiness check", "check"))),
  info: optional(objectWith("an object or a function")),
  schemas: optional(listOf(objectWith<{ ensureSchema(): void }>("a table", "ensureSchema"))),
  handlers: optional(objectWith("an object of functions by task")),
  work: optional(listOf(objectWith<{ start(): void; stop(): void }>("a background part", "start", "stop"))),
  stop: optional({ expects: "a pair of a phase and a function", accepts: isStop }),
  finish: middleware,
};

/** Returns the faults in the shape of what `start()` or `finish()` of a plugin has returned. */
export function faultsOfParts(name: string, made: unknown): readonly Fault[] {
  const key = `plugin.${name}`;
  if (typeof made !== "object" || made === null) {
    return [{ key, message: "must return an object of parts" }];
  }
  return Object.entries(made).flatMap(([slot, value]): Fault[] => {
    const kind = Object.hasOwn(slots, slot) ? slots[slot as keyof PluginParts] : undefined;
    if (kind === undefined) {
      return [
        {
          key,
          message: `returned ${slot}, which no service has; there are ${Object.keys(slots).join(", ")}`,
        },
      ];
    }
    if (value === undefined || kind.accepts(value)) return [];
    return [{ key, message: `returned a wrong ${slot}: it must be ${kind.expects}` }];
  });
}
