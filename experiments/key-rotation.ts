import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { signToken } from "@svc/test-support";
import { keepAliveAgent, type Outcome, send, tally } from "./harness/client.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import { createKeyCommands, type KeyCommands } from "./harness/key-commands.ts";
import { type KeySetPolls, pollKeySets } from "./harness/key-set-polls.ts";
import type { Report } from "./harness/report.ts";
import { startService, type ServiceProcess } from "./harness/service-process.ts";
import { together } from "./harness/together.ts";
import { startStallMonitor, type StallMonitor } from "./harness/stall-monitor.ts";
import type { KeyIssuerSettings } from "./services/key-issuer.ts";
import type { KeyRest, KeyVerifierSettings } from "./services/key-verifying.ts";

const minters = 4;
const algorithms = ["ES256", "EdDSA", "RS256"] as const;
const keySetPath = "/.well-known/jwks.json";
/** Milliseconds to wait for a change or a fetch, which takes a second on an idle machine. */
const patienceMs = 20_000;
/**
 * Milliseconds within which an issuer must use a change. A file-system event notifies the issuer, which reads the file
 * after 50 ms. Its own poll, every five seconds, comes too late: it would skip the first of two quick changes.
 */
const mostNoticedMs = 2000;
/** The maximum age in seconds of the keys that the verifier uses, to which it adds a jitter of a tenth. */
const maxAgeSeconds = 1;
const tickMs = 300;
/** Maximum number of timer ticks between two fetches of the key set. */
const mostTicks = Math.ceil((1100 * maxAgeSeconds) / tickMs);
/** Minimum number of intervals between two key-set fetches to observe in the variant with stale keys. */
const fewestRests = 3;
/** Minimum number of accepted tokens and of key-set polls in a run, even on a slow machine. */
const fewest = { accepted: 200, polls: 40 } as const;

/** Replaces signing keys while tokens are issued and verified: a rotation takes seconds instead of days. */
export const keyRotation: Experiment = {
  name: "key-rotation",
  description:
    "signing keys added, promoted and retired under load: no valid token refused, nothing private published",
  brokenVariants: [
    "broken-promote-at-once",
    "broken-retire-at-once",
    "broken-private-members",
    "broken-old-keys",
  ],
  async run(run, report) {
    const folder = await mkdtemp(join(tmpdir(), "svc-key-rotation-"));
    try {
      // In a short run, one issuer with the verifier in its process, and key commands in this process, are enough to show a
      // variant's fault.
      const isSmall = run.quick && run.variant !== asBuilt;
      const commands = createKeyCommands(folder, !isSmall);
      await commands.run("init", "--algorithm", isSmall ? "EdDSA" : "RS256");
      const verifying = { maxAgeSeconds: ageOf(run.variant), tickMs };
      const settings: KeyIssuerSettings = { keys: folder, ...(isSmall ? { verifying } : {}) };
      const start = (): Promise<ServiceProcess> => startService("key-issuer.ts", settings);
      const [one, two, three] = await together([start(), isSmall ? undefined : start(), startStallMonitor()]);
      await using first = one;
      await using second = two;
      await using stallMonitor = three;
      const jwksUrl = `http://127.0.0.1:${first.port}${keySetPath}?verifier`;
      const alone: KeyVerifierSettings = { ...verifying, jwksUrl };
      await using separate = isSmall ? undefined : await startService("key-verifier.ts", alone);
      const verifier: Verifier = separate ?? {
        port: await first.ask("verifier"),
        ask: (question) => first.ask(question),
      };
      const issuers: Scene["issuers"] = second === undefined ? [first] : [first, second];
      await rotations({ issuers, verifier, commands, stallMonitor, run, report });
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

function ageOf(variant: string): number {
  // The verifier does not fetch again during the run, so that the promoted key is certain to be missing.
  if (variant === "broken-promote-at-once") return 3600;
  return variant === "broken-old-keys" ? 3 * maxAgeSeconds : maxAgeSeconds;
}

type Verifier = Pick<ServiceProcess, "port" | "ask">;

interface Scene {
  readonly issuers: readonly [ServiceProcess, ...ServiceProcess[]];
  readonly verifier: Verifier;
  readonly commands: KeyCommands;
  readonly stallMonitor: StallMonitor;
  readonly run: Run;
  readonly report: Report;
}

interface Issued {
  readonly token: string;
  readonly kid: string;
  /** Seconds since the Unix epoch. */
  readonly exp: number;
}

/** Number of accepted tokens of one key. */
interface Uses {
  accepted: number;
  acceptedSinceReplaced: number;
}

async function rotations(scene: Scene): Promise<void> {
  const { issuers, verifier, commands, run, report } = scene;
  const { quick, variant } = run;
  // Tokens of a variant outlive the rotation, so that the fault shows even on a slow machine.
  const tokenSeconds = variant !== asBuilt ? 60 : quick ? 2 : 6;
  const pace = quick ? { workers: 4, mintMs: 100, presentMs: 40 } : { workers: 16, mintMs: 20, presentMs: 5 };
  const load = startLoad({ issuers, verifier, tokenSeconds, ...pace });
  const leaky = variant === "broken-private-members";
  const path = leaky ? "/leaky-keys.json" : keySetPath;
  const polls = pollKeySets(
    issuers.map(({ port }) => ({ port, path })),
    quick ? 100 : 50,
  );
  const tooEarly: string[] = [];
  const kept: Outcome[] = [];
  const gone: Outcome[] = [];
  const noticedMs: number[] = [];
  const fetchedTwice: boolean[] = [];
  const add = async (n: number): Promise<void> => {
    const known = await publishedBy(issuers[0]);
    await commands.run("add", "--algorithm", algorithms[n % algorithms.length] ?? "RS256");
    // This variant does not wait until the issuers publish the key.
    if (variant === "broken-promote-at-once") return;
    noticedMs.push(await noticed(scene, async (each) => (await publishedBy(each)).length > known.length));
  };
  await load.until(10);
  const isAged = variant === "broken-old-keys";
  const rotated = leaky || isAged ? 0 : (run.runs ?? (quick ? 1 : 4));
  for (let n = 0; n < rotated; n++) {
    const [before = ""] = await commands.kids("current");
    const longer = await mint(issuers[0], 3600);
    if (n === 0 || variant !== asBuilt) await add(n);
    if (variant !== "broken-promote-at-once") {
      const isFetched = fetched(issuers[0]);
      tooEarly.push(await commands.refusal("promote"));
      await delay(quick ? 500 : 3000);
      fetchedTwice.push(await isFetched);
    }
    await commands.run("promote", "--force");
    load.replaced(before);
    if (variant === asBuilt) {
      // The last token with the old key comes from the slower issuer, before it notices the change.
      noticedMs.push(await noticed(scene, async (each) => ((await mint(each, 1))?.kid ?? before) !== before));
      tooEarly.push(await commands.refusal("retire", before));
      await delay(tokenSeconds * 1000 + (quick ? 500 : 1500));
    }
    if (longer !== undefined) kept.push(await load.present(longer));
    // This variant shows its fault by promoting too early. Keep the old key, because the service would otherwise refuse its
    // tokens too.
    if (variant !== "broken-promote-at-once") await commands.run("retire", before, "--now");
    if (variant === asBuilt) {
      noticedMs.push(await noticed(scene, async (each) => !(await publishedBy(each)).includes(before)));
      // Add the key of the next round. The issuers have just polled, so only a file-system event shows it to them
      // before the limit.
      await add(n + 1);
      const isFetched = fetched(issuers[0]);
      await delay(quick ? 500 : 3000);
      fetchedTwice.push(await isFetched);
    } else await load.refusal(patienceMs);
    gone.push(await ask(verifier, longer?.token ?? ""));
  }
  if (variant === asBuilt) {
    await until(() => load.uses.size > rotated && load.accepted >= fewest.accepted);
    await until(() => polls.polls >= fewest.polls);
  }
  if (isAged) await until(async () => (await verifier.ask<readonly KeyRest[]>("rests")).length > fewestRests);
  await load.end();
  await polls.end();
  judgeTokens(load, rotated, report);
  judgeKeySets(polls, rotated, report);
  if (variant === asBuilt || isAged) judgeRests(await verifier.ask("rests"), report);
  if (variant !== asBuilt) return;
  report.figure("rotation", "an issuer uses a change after, longest", Math.max(...noticedMs), "ms");
  report.rule(
    noticedMs.length === 3 * rotated + 1 && noticedMs.every((ms) => ms < mostNoticedMs),
    `both issuers use a change within ${mostNoticedMs} ms (${noticedMs.map(Math.round).join()})`,
  );
  report.rule(
    fetchedTwice.length === 2 * rotated && fetchedTwice.every(Boolean),
    "the verifier fetches the key set after every change",
  );
  report.rule(
    tooEarly.length === 2 * rotated && tooEarly.every((each) => each === "too_early"),
    `svc-keys refuses to promote or retire too early without --force or --now (${tally(tooEarly)})`,
  );
  report.rule(
    kept.length === rotated &&
      kept.every((each) => each.status === 200) &&
      gone.every((each) => each.status === 401),
    "a token that outlives its key is valid until the key is retired, and refused afterwards",
  );
}

/** Returns the ids of the keys that an issuer publishes. */
async function publishedBy(issuer: ServiceProcess): Promise<readonly string[]> {
  const { body } = await send(issuer.port, keySetPath);
  // Treat a missing response as an empty key set.
  const { keys } = JSON.parse(body || '{"keys":[]}') as {
    readonly keys: readonly { readonly kid: string }[];
  };
  return keys.map(({ kid }) => kid);
}

/**
 * Waits until all issuers use a change. Returns the milliseconds that it took, minus the stalls that the stall monitor
 * observed.
 */
async function noticed(
  { issuers, stallMonitor }: Scene,
  isKnown: (issuer: ServiceProcess) => Promise<boolean>,
): Promise<number> {
  const from = performance.now();
  await Promise.all(issuers.map((issuer) => until(() => isKnown(issuer))));
  const to = performance.now();
  return to - from - stallMonitor.between(from, to);
}

/**
 * Waits until a fetch that the verifier starts after this call has ended, which is certain when the next fetch starts.
 */
async function fetched(issuer: ServiceProcess): Promise<boolean> {
  const before = await issuer.ask<number>("fetches");
  return until(async () => (await issuer.ask<number>("fetches")) >= before + 2);
}

/** Waits for a condition; false when it does not hold within `patienceMs`. */
async function until(held: () => boolean | Promise<boolean>): Promise<boolean> {
  const from = performance.now();
  for (;;) {
    if (await held()) return true;
    if (performance.now() > from + patienceMs) return false;
    await delay(50);
  }
}

interface Load {
  /** Counts tokens of this key as tokens of a replaced key from now on. */
  replaced(kid: string): void;
  /**
   * Waits until `accepted` tokens of a key were accepted, and then until the verifier has fetched because of an unknown
   * key id.
   */
  until(accepted: number): Promise<void>;
  /** Waits until a valid token is refused, for at most `ms` milliseconds. */
  refusal(ms: number): Promise<void>;
  /** Sends a request with this token, in addition to the requests of the load. */
  present(issued: Issued): Promise<Outcome>;
  end(): Promise<void>;
  readonly requests: number;
  readonly accepted: number;
  readonly strangers: number;
  readonly uses: ReadonlyMap<string, Uses>;
  /** For each refused valid token, whether its key was current or replaced. */
  readonly refused: readonly string[];
  /** Descriptions of all other errors. */
  readonly strange: readonly string[];
}

interface Loaded {
  readonly issuers: readonly ServiceProcess[];
  readonly verifier: Verifier;
  readonly tokenSeconds: number;
  readonly workers: number;
  /** Milliseconds between two requests of a minter (`mintMs`) and of a worker (`presentMs`). */
  readonly mintMs: number;
  readonly presentMs: number;
}

/** Issues tokens continuously, and sends requests with the valid ones until `end()`. */
function startLoad({ issuers, verifier, tokenSeconds, workers, mintMs, presentMs }: Loaded): Load {
  const stop = new AbortController();
  const agent = keepAliveAgent(workers);
  const uses = new Map<string, Uses>();
  const old = new Set<string>();
  const refused: string[] = [];
  const strange: string[] = [];
  let tokens: Issued[] = [];
  let requests = 0;
  let strangers = 0;

  async function minting(n: number): Promise<void> {
    for (let turn = n; !stop.signal.aborted; turn++) {
      const issuer = issuers[turn % issuers.length];
      const issued = issuer && (await mint(issuer, tokenSeconds));
      if (issued === undefined) strange.push("no token was issued");
      else tokens.push(issued);
      if (tokens.length > 500) tokens = tokens.filter(isValid);
      await delay(mintMs);
    }
  }

  async function presenting(): Promise<void> {
    while (!stop.signal.aborted) {
      const issued = tokens[Math.floor(Math.random() * tokens.length)];
      if (issued !== undefined && isValid(issued)) count(issued, await ask(verifier, issued.token, agent));
      await delay(presentMs);
    }
  }

  /**
   * Sends tokens with unknown key ids. After a fetch because of one of them, the verifier does not fetch because of
   * another for a minute.
   */
  async function strangeness(): Promise<void> {
    while (!stop.signal.aborted) {
      const claims = { iss: "https://issuer.example.com", aud: "orders" };
      const token = signToken(claims, "a secret that no issuer has, of more than 32 bytes", {
        alg: "RS256",
        kid: randomUUID(),
      });
      const outcome = await ask(verifier, token, agent);
      strangers += 1;
      if (outcome.status !== 401) strange.push(`a token with an unknown key got ${outcome.status}`);
      await delay(100);
    }
  }

  function count(issued: Issued, outcome: Outcome): void {
    requests += 1;
    const seen = uses.get(issued.kid) ?? { accepted: 0, acceptedSinceReplaced: 0 };
    uses.set(issued.kid, seen);
    if (outcome.status === 200) {
      seen.accepted += 1;
      if (old.has(issued.kid)) seen.acceptedSinceReplaced += 1;
    } else if (outcome.status !== 401) strange.push(outcome.error ?? String(outcome.status));
    else if (isValid(issued)) refused.push(old.has(issued.kid) ? "a replaced key" : "a current key");
  }

  const working = [
    ...Array.from({ length: minters }, (_, n) => minting(n)),
    ...Array.from({ length: workers }, presenting),
    strangeness(),
  ];
  return {
    replaced: (kid) => void old.add(kid),
    async until(accepted) {
      while ([...uses.values()].every((each) => each.accepted < accepted)) await delay(20);
      // The verifier fetches for an unknown key id at most once a minute. After two more such tokens this fetch has ended.
      for (const before = strangers; strangers < before + 2;) await delay(20);
    },
    async refusal(ms) {
      const until = performance.now() + ms;
      while (refused.length === 0 && performance.now() < until) await delay(20);
    },
    async present(issued) {
      const outcome = await ask(verifier, issued.token);
      count(issued, outcome);
      return outcome;
    },
    async end() {
      stop.abort();
      await Promise.all(working);
      agent.destroy();
    },
    get requests() {
      return requests;
    },
    get accepted() {
      return [...uses.values()].reduce((sum, each) => sum + each.accepted, 0);
    },
    get strangers() {
      return strangers;
    },
    uses,
    refused,
    strange,
  };
}

async function mint(issuer: ServiceProcess, seconds: number): Promise<Issued | undefined> {
  const { status, body } = await send(issuer.port, `/token?seconds=${seconds}`);
  return status === 200 ? (JSON.parse(body) as Issued) : undefined;
}

function ask(verifier: Verifier, token: string, agent?: ReturnType<typeof keepAliveAgent>): Promise<Outcome> {
  const headers = { Authorization: `Bearer ${token}` };
  return send(verifier.port, "/orders", { agent: agent ?? false, headers });
}

function isValid({ exp }: Issued): boolean {
  return Date.now() < exp * 1000;
}

function judgeTokens(
  { requests, strangers, uses, refused, strange }: Load,
  rotated: number,
  report: Report,
): void {
  const each = [...uses.values()];
  const sum = (of: (uses: Uses) => number): number => each.reduce((all, one) => all + of(one), 0);
  report.figure("tokens", "requests", requests, "count");
  report.figure(
    "tokens",
    "accepted",
    sum((one) => one.accepted),
    "count",
  );
  report.figure(
    "tokens",
    "accepted, of replaced keys",
    sum((one) => one.acceptedSinceReplaced),
    "count",
  );
  report.figure("tokens", "keys that signed", each.filter((one) => one.accepted > 0).length, "count");
  report.figure("tokens", "with unknown keys, refused", strangers, "count");
  const expired = requests - sum((one) => one.accepted) - refused.length - strange.length;
  report.figure("tokens", "expired in flight, refused", expired, "count");
  report.figure("tokens", "valid, refused", refused.length, "count");
  report.rule(refused.length === 0, `no valid token is refused (${tally(refused)})`);
  report.rule(strange.length === 0, `no other errors (${tally(strange)})`);
  report.rule(each.length > rotated, "tokens of every key were accepted");
  report.rule(
    each.filter((one) => one.acceptedSinceReplaced > 0).length >= rotated,
    "tokens of replaced keys were accepted",
  );
}

/**
 * Checks the longest time between two fetches of the key set, in ticks of a timer in the verifier's process: a stall of the
 * process delays the timer as it delays the fetch, and no request is verified during the stall.
 */
function judgeRests(rests: readonly KeyRest[], report: Report): void {
  const most = Math.max(...rests.map((each) => each.ticks));
  report.figure("verifier", "intervals between two fetches", rests.length, "count");
  report.figure("verifier", "longest interval", Math.max(...rests.map((each) => each.ms)), "ms");
  report.rule(
    rests.length > fewestRests && most <= mostTicks,
    `the verifier fetches the key set when it is due (${most} ticks of ${tickMs} ms between two fetches)`,
  );
}

function judgeKeySets({ polls, leaks, kids, faults }: KeySetPolls, rotated: number, report: Report): void {
  report.figure("key set", "polls", polls, "count");
  report.figure("key set", "keys seen", kids.size, "count");
  report.figure("key set", "with private members", leaks.length, "count");
  report.rule(leaks.length === 0, `the key set has no private member (${tally(leaks)})`);
  report.rule(faults.length === 0, `the key set is always available (${tally(faults)})`);
  report.rule(kids.size > rotated, "every key was published");
}
