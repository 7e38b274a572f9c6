import { type Database, standsFor } from "./queryable.ts";

/**
 * Returns a database with some methods replaced. Runs its other methods on the given object, which may have private members;
 * `original()` returns that object.
 */
export function withMethods<D extends Database>(db: D, methods: object): D {
  return standsFor(
    new Proxy(db, {
      get(target, key) {
        if (Object.hasOwn(methods, key)) return Reflect.get(methods, key) as unknown;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    }),
    db,
  );
}
