import { isTenantId, TENANT_ID_EXPECTED } from "@svc/context";
import { type Connectable, type Queryable, type TransactionOptions, withTransaction } from "@svc/sql";
import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Thrown if `withTenant` is called without a valid tenant or inside another `withTenant`, or if other code sets the
 * tenant: a bug in the caller, so a 500.
 */
export class TenantError extends Error {
  override readonly name = "TenantError";
  readonly code = "ERR_SVC_DATABASE_TENANT";
}

/** Runs `work` in a transaction of the tenant. */
export type WithTenant = <T>(
  tenant: string,
  work: (tx: Queryable) => T | Promise<T>,
  options?: TransactionOptions,
) => Promise<T>;

/** A call of `withTenant`. Work that the call has started but not awaited still sees the call after its end. */
interface Call {
  readonly pool: Connectable;
  readonly outer: Call | undefined;
  ended: boolean;
}

const CALL = /\bset_config\s*\(/i;
const calls = new AsyncLocalStorage<Call>();

/** @param setting name of the setting that the row security policies read */
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
    throw new TenantError(`withTenant(): the tenant must be a string; got ${typeof tenant}`);
  }
  if (tenant.trim() === "") throw new TenantError("withTenant(): the tenant must not be empty");
  if (!isTenantId(tenant)) {
    throw new TenantError(`withTenant(): the tenant is invalid: it must have ${TENANT_ID_EXPECTED}`);
  }
}

// Skip ended calls: work that keeps starting new work would otherwise build an endless chain of calls.
function living(call: Call | undefined): Call | undefined {
  return call?.ended === true ? living(call.outer) : call;
}

// A nested call would wait for a second connection while the outer call holds the first one, and neither transaction
// would see the other's uncommitted rows.
function refuseNested(pool: Connectable, innermost: Call | undefined): void {
  for (let call = innermost; call !== undefined; call = call.outer) {
    if (call.ended || call.pool !== pool) continue;
    throw new TenantError(
      "withTenant() was called inside another withTenant(): use the tx of the outer call, or await that call first",
    );
  }
}

/**
 * Inspects statements outside `withTenant` for the setting's name. Rejects a statement that sets it, because the value
 * would remain for the connection's next user, and behind a pooler for other processes. A statement that only names the
 * setting may set it in a way that this function does not detect.
 *
 * @returns whether to close the connection after use
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
    // Check parameters only for set_config(): in other statements they may be client input, which must not close a
    // connection.
    const inCall = CALL.test(text) && (inText || (Array.isArray(values) && values.some(isNamed)));
    if (inCall || (inText && sets.test(text))) {
      throw new TenantError(`only withTenant() may set ${setting}`);
    }
    return inText;
  };
}

interface Statement {
  readonly text?: unknown;
  readonly values?: unknown;
}

// `pg` also accepts objects, which data mappers and cursors pass.
function statementOf(given: unknown, parameters: unknown): Statement {
  if (typeof given !== "object" || given === null) return { text: given, values: parameters };
  const { text, values } = given as Statement;
  return { text, values: values ?? parameters };
}
