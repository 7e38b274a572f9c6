import { isTenantId, TENANT_ID_EXPECTED } from "@svc/context";
import { type Connectable, type Queryable, type TransactionOptions, withTransaction } from "@svc/sql";
import { AsyncLocalStorage } from "node:async_hooks";

/** Thrown when `withTenant` is called without a tenant, or inside of itself. A mistake of the program, so a 500. */
export class TenantError extends Error {
  override readonly name = "TenantError";
  readonly code = "ERR_SVC_DATABASE_TENANT";
}

/** Runs work as a tenant, on connections that others give. */
export type WithTenant = <T>(
  tenant: string,
  work: (tx: Queryable) => T | Promise<T>,
  options?: TransactionOptions,
) => Promise<T>;

/** A call of `withTenant`; work that was started in it and not awaited may see it when it has ended. */
interface Call {
  readonly pool: Connectable;
  readonly outer: Call | undefined;
  ended: boolean;
}

const CALL = /\bset_config\s*\(/i;
const calls = new AsyncLocalStorage<Call>();

/** @param setting the name of the setting that row security asks for */
export function createWithTenant(pool: Connectable, setting: string): WithTenant {
  return async (tenant, work, options = {}) => {
    checkTenant(tenant);
    const settings = options.settings ?? {};
    if (Object.hasOwn(settings, setting)) {
      throw new TenantError(`withTenant(): settings must not contain ${setting}, which holds the tenant`);
    }
    const outer = living(calls.getStore());
    refuseNested(pool, outer);
    const call: Call = { pool, outer, ended: false };
    const whole: TransactionOptions = { ...options, settings: { ...settings, [setting]: tenant } };
    try {
      return await calls.run(call, () => withTransaction(pool, work, whole));
    } finally {
      call.ended = true;
    }
  };
}

function checkTenant(tenant: unknown): void {
  if (typeof tenant !== "string") {
    throw new TenantError(`withTenant(): there is no tenant: it must be a string and is ${typeof tenant}`);
  }
  if (tenant.trim() === "") throw new TenantError("withTenant(): there is no tenant: it is empty");
  if (!isTenantId(tenant)) {
    throw new TenantError(`withTenant(): this is no tenant: it must have ${TENANT_ID_EXPECTED}`);
  }
}

// Work that starts its own successor would leave a chain of calls that ended long ago.
function living(call: Call | undefined): Call | undefined {
  return call?.ended === true ? living(call.outer) : call;
}

// A second transaction would wait for a connection while the first one holds one, and the two would not see each other.
function refuseNested(pool: Connectable, innermost: Call | undefined): void {
  for (let call = innermost; call !== undefined; call = call.outer) {
    if (call.ended || call.pool !== pool) continue;
    throw new TenantError(
      "withTenant() was called inside of withTenant(): use the tx of the outer one, or await it first",
    );
  }
}

/**
 * Watches statements outside of `withTenant` for the setting's name. One that sets it is refused: it would hold for whoever
 * uses the connection next, and behind a pooler for other processes too. One that only names it may still set it in ways
 * that are not seen here.
 *
 * @returns whether the connection must not be used again
 * @throws TenantError
 */
export type Watch = (text: unknown, values: unknown) => boolean;

export function createWatch(setting: string): Watch {
  const name = setting.replace(".", String.raw`\W{1,5}`);
  const named = new RegExp(name, "i");
  const sets = new RegExp(String.raw`(?:^|;)\s*set\s+(?:session\s+|local\s+)?"?${name}`, "i");
  const isNamed = (value: unknown): boolean => typeof value === "string" && named.test(value);
  return (given, parameters) => {
    const { text, values } = statementOf(given, parameters);
    if (typeof text !== "string") return false;
    const inText = named.test(text);
    // Of parameters only those of set_config count: what clients send must not cost a connection.
    const inCall = CALL.test(text) && (inText || (Array.isArray(values) && values.some(isNamed)));
    if (inCall || (inText && sets.test(text))) {
      throw new TenantError(`${setting} is set by withTenant() and by nobody else`);
    }
    return inText;
  };
}

interface Statement {
  readonly text?: unknown;
  readonly values?: unknown;
}

// `pg` takes objects too, and hands them on: data mappers and cursors are such.
function statementOf(given: unknown, parameters: unknown): Statement {
  if (typeof given !== "object" || given === null) return { text: given, values: parameters };
  const { text, values } = given as Statement;
  return { text, values: values ?? parameters };
}
