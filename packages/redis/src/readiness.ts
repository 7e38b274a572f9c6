import type { CheckResult, Logger, ReadinessCheck } from "@svc/context";
import { DeadlineError, singleFlight, withDeadline } from "@svc/resilience";
import type { CommandArgument } from "./client.ts";
import type { Connection, Server } from "./connection.ts";
import { RedisCommandError, RedisUnavailableError } from "./errors.ts";
import type { Guard } from "./guard.ts";

type Ask = (command: string, ...args: CommandArgument[]) => Promise<unknown>;

/** The readiness check of a connection. */
export interface Probe {
  readonly check: ReadinessCheck;
  /** Queries the servers in the background, and logs a warning if they may drop entries. */
  refresh(): void;
}

/** Creates the check. It queries the servers; while a breaker is open, it returns a result without a query. */
export function createProbe(
  connection: Connection,
  guardOf: (server: string) => Guard,
  options: {
    readonly name: string;
    readonly logField: string;
    readonly readinessTimeoutMs: number;
    readonly logger: Logger | undefined;
    readonly isStopped: () => boolean;
    /** Returns additional fields for the result's `meta`. */
    readonly meta: () => Readonly<Record<string, string | number>>;
  },
): Probe {
  const { name, logField, readinessTimeoutMs, logger, isStopped, meta } = options;
  let policy: string | undefined;
  let warnedOf: string | undefined;

  function askOf({ name: server, send }: Server): Ask {
    return (command, ...args) => {
      if (send === undefined) return Promise.reject(new RedisUnavailableError("disconnected", 1000));
      return guardOf(server).run(send, command, args);
    };
  }

  const queryServers = singleFlight(async () => {
    const results = await Promise.allSettled(
      connection.servers().map((server) => queryServer(askOf(server))),
    );
    const answers = results.filter((result) => result.status === "fulfilled").map(({ value }) => value);
    const policies = answers.map((answer) => answer.policy);
    if (answers.length > 0) policy = policies.find((each) => each !== "noeviction") ?? policies[0];
    warnOfEviction();
    return { all: results, answers };
  });

  function warnOfEviction(): void {
    if (policy === warnedOf) return;
    warnedOf = policy;
    if (policy === undefined || policy === "noeviction") return;
    logger?.warn(
      { [logField]: name, policy },
      "Redis may evict entries before they expire: set maxmemory-policy to noeviction",
    );
  }

  function reasonOf(error: unknown): string {
    if (error instanceof DeadlineError) return "no answer in time";
    if (!(error instanceof RedisUnavailableError)) return "Redis rejects commands";
    if (error.reply !== undefined) return error.reply;
    return (
      connection.lastFailure ?? (error.reason === "disconnected" ? "no connection" : "no answer in time")
    );
  }

  async function verdict(signal: AbortSignal): Promise<Omit<CheckResult, "meta">> {
    if (isStopped()) return { healthy: false, detail: "stopped" };
    try {
      const { all, answers } = await withDeadline(readinessTimeoutMs, () => queryServers(), { signal });
      const failed = all.find((result) => result.status === "rejected");
      if (failed !== undefined) {
        const which = all.length > 1 ? `${all.length - answers.length} of ${all.length} nodes ` : "";
        return { healthy: false, detail: `${which}not answering (${reasonOf(failed.reason)})` };
      }
      if (answers.some(({ isReplica }) => isReplica)) {
        return { healthy: false, detail: "connected to a replica, not to the primary" };
      }
    } catch (error) {
      return { healthy: false, detail: `not answering (${reasonOf(error)})` };
    }
    const drops = policy !== undefined && policy !== "noeviction";
    return { healthy: true, detail: drops ? `connected; may drop entries (${policy})` : "connected" };
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    const found = await verdict(signal);
    return { ...found, meta: { ...meta(), eviction: policy ?? "unknown" } };
  }

  return {
    check: { name, critical: false, check },
    refresh: () => void queryServers().catch(() => undefined),
  };
}

/** Queries one server. A host that hides INFO or CONFIG counts as healthy, with unknown values. */
async function queryServer(ask: Ask) {
  const memory = await answered(ask("info", "memory"));
  const policy = /^maxmemory_policy:([\w-]{1,40})\s*$/m.exec(memory)?.[1];
  const replication = await answered(ask("info", "replication"));
  const isReplica = /^role:slave\s*$/m.test(replication);
  if (policy !== undefined) return { policy, isReplica };
  const setting = await answered(ask("config", "get", "maxmemory-policy"));
  return { policy: /^maxmemory-policy\n([\w-]{1,40})$/.exec(setting)?.[1], isReplica };
}

async function answered(answer: Promise<unknown>): Promise<string> {
  try {
    const value = await answer;
    if (Array.isArray(value)) return value.map(String).join("\n");
    return typeof value === "string" ? value : "";
  } catch (error) {
    if (error instanceof RedisCommandError) return "";
    throw error;
  }
}
