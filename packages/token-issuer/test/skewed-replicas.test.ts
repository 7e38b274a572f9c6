import { testDatabase, testRedis } from "@svc/dev-services";
import { createKeyRing, type IssuerStore, type TokenPair } from "@svc/token-issuer";
import { createMemoryTokenStore } from "@svc/token-store";
import { createPostgresTokenStore } from "@svc/token-store/postgres";
import { createRedisTokenStore } from "@svc/token-store/redis";
import type { Listening } from "@svc/test-support";
import { expect } from "chai";
import { Redis } from "ioredis";
import { Pool } from "pg";
import { ada, claimsOf, type Issuing, issuing, SECRET } from "./support/issuing.ts";
import { ask, bearer, json, serve, type Stack } from "./support/stacks.ts";

/** Seconds by which the clocks of two replicas are ahead; few enough that each accepts the other's tokens. */
const skews = [
  [25, 0],
  [-25, 0],
  [0, 25],
  [0, -25],
  [14, -14],
] as const;

interface Replica extends Issuing, AsyncDisposable {
  readonly url: string;
}

/** Starts a service whose clock is ahead by the given seconds. */
async function replicaOn(store: IssuerStore, skewSeconds: number, stack: Stack): Promise<Replica> {
  const clock = Object.assign(() => Date.now() + skewSeconds * 1000, { forward: () => undefined });
  const keys = createKeyRing({ secret: SECRET, env: "local", now: clock });
  const each = { ...issuing({ keys, store, now: clock, storeTimeoutSeconds: 15 }), clock };
  const listening: Listening = await serve(stack, each);
  return { ...each, url: listening.url, [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() };
}

/** Returns the status of a request with the access token and of a refresh. */
async function use({ url }: Replica, pair: TokenPair): Promise<readonly [number, number]> {
  const me = await ask(`${url}/auth/me`, bearer(pair.access_token));
  const refreshed = await ask(`${url}/auth/refresh`, json({ refresh_token: pair.refresh_token }));
  return [me.status, refreshed.status];
}

function skewCases(storesOf: () => readonly [IssuerStore, IssuerStore], stack: Stack): void {
  for (const [one, other] of skews) {
    it(`end every session older than a sign-out and keep every newer session, with clocks ${one} s and ${other} s ahead (REV-10)`, async () => {
      const [firstStore, secondStore] = storesOf();
      await using first = await replicaOn(firstStore, one, stack);
      await using second = await replicaOn(secondStore, other, stack);
      const subject = `person of ${one} and ${other} on ${stack}`;
      // Most of the rounds run within one second, the resolution of the dates.
      for (let round = 0; round < 4; round += 1) {
        const old = await first.issuer.issuePair({ ...ada, subject });
        const stays = await first.issuer.issuePair({ ...ada, subject: `not ${subject}` });
        await second.issuer.revokeSubject(subject);
        for (const each of [first, second]) expect(await use(each, old)).to.eql([401, 401]);
        const here = await second.issuer.issuePair({ ...ada, subject });
        const there = await first.issuer.issuePair({ ...ada, subject });
        expect(await use(second, there)).to.eql([200, 200]);
        expect(await use(first, here)).to.eql([200, 200]);
        expect(await use(second, stays)).to.eql([200, 200]);
      }
    });
  }

  it("date a sign-in by the store's clock, even if its authTime comes from a clock that is ahead (REV-10)", async () => {
    const [firstStore, secondStore] = storesOf();
    await using first = await replicaOn(firstStore, 25, stack);
    await using second = await replicaOn(secondStore, 0, stack);
    const subject = `dated person on ${stack}`;
    const authTime = Math.floor(first.clock() / 1000);
    const old = await first.issuer.issuePair({ ...ada, subject, authTime });
    const earlier = await first.issuer.issuePair({ ...ada, subject, authTime: authTime - 3600 });
    expect(claimsOf(earlier.access_token)["auth_time"]).to.equal(authTime - 3600);
    const notBefore = await second.issuer.revokeSubject(subject);
    expect(await use(second, old)).to.eql([401, 401]);
    expect(await use(second, earlier)).to.eql([401, 401]);
    const next = await second.issuer.issuePair({ ...ada, subject, authTime: notBefore });
    expect(await use(second, next)).to.eql([200, 200]);
  });

  it("use a past authTime and notBefore of the caller unchanged (REV-10)", async () => {
    const [store] = storesOf();
    await using replica = await replicaOn(store, 0, stack);
    const subject = `named person on ${stack}`;
    const authTime = Math.floor(Date.now() / 1000) - 1000;
    const old = await replica.issuer.issuePair({ ...ada, subject, authTime: authTime - 1 });
    const young = await replica.issuer.issuePair({ ...ada, subject, authTime });
    expect(await replica.issuer.revokeSubject(subject, authTime)).to.equal(authTime);
    expect(await use(replica, old)).to.eql([401, 401]);
    expect(await use(replica, young)).to.eql([200, 200]);
  });
}

describe("replicas whose clocks disagree", function () {
  this.timeout(60_000);

  for (const stack of ["express 4", "express 5"] as const) {
    describe(`on one store in memory, on ${stack}`, () => {
      const store = createMemoryTokenStore();
      after(() => store.stop());
      skewCases(() => [store, store], stack);
    });

    describe(`on one Redis, on ${stack}`, () => {
      const server = testRedis();
      const clients: Redis[] = [];
      let stores: readonly [IssuerStore, IssuerStore];
      before(() => {
        const open = (): IssuerStore => {
          const redis = new Redis(server.url, { maxRetriesPerRequest: 0 });
          clients.push(redis);
          return createRedisTokenStore({
            redis,
            keyPrefix: `${server.keyPrefix}skewed:${stack}:`,
            timeoutMs: 15_000,
          });
        };
        stores = [open(), open()];
      });
      after(() => {
        for (const client of clients) client.disconnect();
      });
      skewCases(() => stores, stack);
    });

    describe(`on one PostgreSQL, on ${stack}`, () => {
      const pools: Pool[] = [];
      // Register this hook first, so that it runs before testDatabase() drops the database.
      after(() => Promise.all(pools.map((pool) => pool.end())));
      const database = testDatabase({ name: "skewed-replicas" });
      let stores: readonly [IssuerStore, IssuerStore];
      before(async () => {
        const open = (): ReturnType<typeof createPostgresTokenStore> => {
          const pool = new Pool({ connectionString: database.url, max: 4 });
          pools.push(pool);
          return createPostgresTokenStore({ db: pool, timeoutMs: 15_000, sweepEverySeconds: 0 });
        };
        const [one, other] = [open(), open()];
        await one.ensureSchema();
        stores = [one, other];
      });
      skewCases(() => stores, stack);
    });
  }
});
