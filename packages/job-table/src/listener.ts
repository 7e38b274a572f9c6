import { type Connectable, identifier, literal } from "@svc/sql";
import { setTimeout as sleep } from "node:timers/promises";
import { QUIET_PAUSE_MS } from "./notifier.ts";
import {
  createOwnSession,
  type Notification,
  type OwnSession,
  retryDelay,
  type Session,
  SLOW_MS,
} from "./worker/session.ts";

/** A worker as a member of its table's group in this process. */
export interface Member {
  /** The message that announces the worker's tasks to the table's other listeners. */
  readonly announcement: string;
  /** Ends the worker's wait, so that it checks the group again. */
  wake(): void;
  /** Called when another worker in the group starts or ends a sweep; the next sweep is due in `ms`. */
  sweptElsewhere(ms: number): void;
  /** Makes the worker sweep soon, because the table may have changed after a quiet period. */
  hasten(): void;
  /** Makes a sweep due now, which starts when the worker wakes. */
  reset(): void;
  announced(announcement: string): void;
  /** Called when a reply comes from a different backend than the handshake, as behind a pooler. */
  pooler(): void;
  fault(error: unknown): void;
}

/**
 * The workers in this process for one table. They limit their claims to the number that may find jobs, and one worker
 * sweeps for all.
 */
export interface TableGroup {
  /** Number of claims that may find a job: one after a notification, doubled after each consecutive full claim. */
  readonly claims: number;
  /** Call when jobs may be due, for example after a notification. */
  mayBeDue(): void;
  /**
   * Call when a worker sends a claim; that worker is then the last to be woken. When the claim returns, call the
   * returned function with whether the claim was full.
   */
  claimSent(by: Member): (isFull: boolean) => void;
  /** Returns the pause after a sweep: `ms`, doubled by each consecutive quiet sweep while the connection listens. */
  sweepPause(ms: number): number;
  /** Call when a sweep found nothing. */
  quiet(): void;
  /** Ends the longer pauses of a quiet table. Call when a worker claimed jobs or failed, or cannot be notified. */
  active(): void;
  /** Call when a worker starts or ends a sweep; the next sweep is due in `ms`. */
  swept(by: Member, ms: number): void;
  join(member: Member): void;
  leave(member: Member): void;
}

/** Listens for all workers in this process on one connection of a pool. */
export interface Listener {
  /** Returns a session for a worker. The first session uses the listening connection; later sessions have their own. */
  sessionFor(timeoutMs: number): Session;
  /** Closes a worker's session, unless it uses the listening connection. */
  release(session: Session): void;
  groupOf(channel: string): TableGroup;
}

const MAX_CLAIMS = 16;

const listeners = new WeakMap<Connectable, Listener>();

export function listenerOf(pool: Connectable): Listener {
  const existing = listeners.get(pool);
  if (existing !== undefined) return existing;
  const listener = createListener(pool, () => {
    if (listeners.get(pool) === listener) listeners.delete(pool);
  });
  listeners.set(pool, listener);
  return listener;
}

function createListener(pool: Connectable, onEnd: () => void): Listener {
  const groups = new Map<string, { readonly group: TableGroup; readonly members: ReadonlySet<Member> }>();
  let listening: OwnSession | undefined;
  let isOpening = false;
  let watching: NodeJS.Timeout | undefined;
  /** Channels whose LISTEN has not been confirmed yet. */
  const joining = new Set<string>();

  function allMembers(): Member[] {
    return [...groups.values()].flatMap(({ members }) => [...members]);
  }

  function receive({ channel, announcement }: Notification): void {
    const entry = groups.get(channel);
    if (announcement !== undefined) entry?.members.forEach((member) => member.announced(announcement));
    else entry?.group.mayBeDue();
  }

  function lost(): void {
    // Sweeps find the jobs whose notifications were missed.
    for (const member of allMembers()) {
      member.reset();
      member.wake();
    }
    void open();
  }

  /** Connects, and retries until it succeeds or no worker listens any more. */
  async function open(): Promise<void> {
    if (isOpening) return;
    isOpening = true;
    for (
      let failures = 1;
      listening !== undefined && !listening.isOpen && allMembers().length > 0;
      failures++
    ) {
      try {
        await listening.query("", "select 1", []);
      } catch (error) {
        for (const member of allMembers()) member.fault(error);
        await sleep(retryDelay(failures), undefined, { ref: false });
      }
    }
    isOpening = false;
  }

  function statementsFor(channel: string, { announcement }: Member): string[] {
    return [
      `listen ${identifier(channel)}`,
      `select pg_notify(${literal(channel)}, ${literal(announcement)})`,
    ];
  }

  function joined(channel: string, member: Member): void {
    watching ??= setInterval(watch, SLOW_MS).unref();
    if (listening?.isOpen !== true) return void open();
    joining.add(channel);
    listening
      .query("", statementsFor(channel, member).join("; "), [])
      .catch(() => open())
      .finally(() => joining.delete(channel));
  }

  /** Makes workers sweep at the normal interval while the connection is blocked, and tests an idle connection. */
  function watch(): void {
    if (listening?.isOpen !== true) return;
    if (!listening.hears) for (const { group } of groups.values()) group.active();
    // This fails if the connection is dead but emitted no error; the next connection then listens.
    else if (listening.isIdle && performance.now() - listening.sentAt > QUIET_PAUSE_MS)
      listening.query("", "select 1", []).catch(() => undefined);
  }

  function left(): void {
    if (allMembers().length > 0) return;
    onEnd();
    clearInterval(watching);
    watching = undefined;
    listening?.close();
  }

  return {
    sessionFor(timeoutMs) {
      if (listening !== undefined) return createOwnSession(pool, timeoutMs);
      listening = createOwnSession(pool, timeoutMs, {
        statements: () =>
          [...groups].flatMap(([channel, { members }]) =>
            [...members].flatMap((member) => statementsFor(channel, member)),
          ),
        onNotification: receive,
        onLoss: lost,
        onPooler: () => allMembers().forEach((member) => member.pooler()),
      });
      return listening;
    },
    release(session) {
      if (session !== listening) session.close();
    },
    groupOf(channel) {
      let entry = groups.get(channel);
      if (entry === undefined) {
        const members = new Set<Member>();
        const group = createGroup(members, {
          isListening: () => listening?.hears === true && !joining.has(channel),
          joined: (member) => joined(channel, member),
          left,
        });
        entry = { group, members };
        groups.set(channel, entry);
      }
      return entry.group;
    },
  };
}

interface Connection {
  readonly isListening: () => boolean;
  readonly joined: (member: Member) => void;
  readonly left: () => void;
}

const NONE: Connection = { isListening: () => false, joined: () => undefined, left: () => undefined };

/** Creates a group. Without a connection, the group is for one polling worker. */
export function createGroup(members: Set<Member> = new Set(), connection: Connection = NONE): TableGroup {
  let claims = 0;
  let fullClaims = 0;
  let reasons = 0;
  let quietSweeps = 0;

  function wakeFor(count: number): void {
    claims = Math.max(claims, count);
    for (const member of members) member.wake();
  }

  function active(): void {
    if (quietSweeps === 0) return;
    quietSweeps = 0;
    for (const member of members) {
      member.hasten();
      member.wake();
    }
  }

  return {
    get claims() {
      return claims;
    },
    mayBeDue() {
      reasons++;
      active();
      wakeFor(1);
    },
    claimSent(by) {
      claims = Math.max(0, claims - 1);
      if (members.delete(by)) members.add(by);
      const before = reasons;
      return (isFull) => {
        fullClaims = isFull ? fullClaims + 1 : 0;
        if (isFull) wakeFor(Math.min(MAX_CLAIMS, 2 ** (fullClaims - 1)));
        // No notification has arrived since the claim was sent, and it found every due job.
        else if (before === reasons) claims = 0;
      };
    },
    sweepPause: (ms) =>
      connection.isListening() ? Math.max(ms, Math.min(QUIET_PAUSE_MS, ms * 2 ** quietSweeps)) : ms,
    quiet() {
      quietSweeps = Math.min(quietSweeps + 1, 10);
    },
    active,
    swept(by, ms) {
      for (const member of members) if (member !== by) member.sweptElsewhere(ms);
    },
    join(member) {
      members.add(member);
      connection.joined(member);
    },
    leave(member) {
      if (members.delete(member)) connection.left();
    },
  };
}
