import { testRedis } from "@svc/dev-services";
import { createKeyRing, type TokenPair } from "@svc/token-issuer";
import { createRedisTokenStore } from "@svc/token-store/redis";
import type { Listening } from "@svc/test-support";
import { expect } from "chai";
import { Redis } from "ioredis";
import { ada, type Issuing, issuing, SECRET } from "./support/issuing.ts";
import { type Answer, ask, bearer, json, serve } from "./support/stacks.ts";

const ROUNDS = 100;
const CONNECTIONS = 16;

interface Replica extends Issuing, AsyncDisposable {
  readonly url: string;
  readonly redis: Redis;
}

describe("two replicas on one Redis", () => {
  const server = testRedis();

  async function replica(refreshGraceSeconds = 10): Promise<Replica> {
    const redis = new Redis(server.url, { maxRetriesPerRequest: 0 });
    const store = createRedisTokenStore({
      redis,
      keyPrefix: `${server.keyPrefix}issuer:`,
      timeoutMs: 15_000,
    });
    const keys = createKeyRing({ secret: SECRET, env: "local" });
    const each = {
      ...issuing({ keys, store, storeTimeoutSeconds: 15, refreshGraceSeconds, now: Date.now }),
      clock,
    };
    const listening: Listening = await serve("express 5", each);
    return {
      ...each,
      redis,
      url: listening.url,
      async [Symbol.asyncDispose]() {
        redis.disconnect();
        await listening[Symbol.asyncDispose]();
      },
    };
  }

  const refresh = (url: string, token: string): Promise<Answer> =>
    ask(`${url}/auth/refresh`, json({ refresh_token: token }));

  it(`rotate a token only once when it is sent to both replicas over ${CONNECTIONS} connections each, in ${ROUNDS} rounds (REF-19, REF-4)`, async function () {
    this.timeout(120_000);
    await using a = await replica();
    await using b = await replica();
    for (let round = 0; round < ROUNDS; round += 1) {
      const { refresh_token } = await a.issuer.issuePair(ada);
      const answers = await Promise.all(
        Array.from({ length: 2 * CONNECTIONS }, (_, index) =>
          refresh(index % 2 === 0 ? a.url : b.url, refresh_token),
        ),
      );
      const lost = answers.filter((each) => each.status === 401).map((each) => each.body["detail"]);
      expect(answers.filter((each) => each.status === 200)).to.have.length(1);
      expect(lost).to.have.length(2 * CONNECTIONS - 1);
      expect([...new Set(lost)]).to.eql(["this refresh token has already been rotated"]);
    }
  });

  it(`reject a token at the next request after a logout on the other replica, in ${ROUNDS} rounds (ISS-5, REV-11)`, async function () {
    this.timeout(120_000);
    await using a = await replica();
    await using b = await replica();
    for (let round = 0; round < ROUNDS; round += 1) {
      const pair = await a.issuer.issuePair(ada);
      const me = async (): Promise<number> =>
        (await ask(`${b.url}/auth/me`, bearer(pair.access_token))).status;
      expect(await me()).to.equal(200);
      const out = await ask(`${a.url}/auth/logout`, { method: "POST", ...bearer(pair.access_token) });
      expect(out.status).to.equal(204);
      expect(await me()).to.equal(401);
      const refused = await refresh(b.url, pair.refresh_token);
      expect(refused.body["detail"]).to.equal("this session has been revoked");
    }
  });

  it("both end the session of a replayed token at the next request (REF-6, REV-11)", async () => {
    await using a = await replica(0);
    await using b = await replica(0);
    const first = await a.issuer.issuePair(ada);
    const second = JSON.parse((await refresh(a.url, first.refresh_token)).text) as TokenPair;
    expect((await ask(`${b.url}/auth/me`, bearer(second.access_token))).status).to.equal(200);
    expect((await refresh(b.url, first.refresh_token)).body["detail"]).to.equal(
      "this session has been revoked",
    );
    for (const { url } of [a, b]) {
      expect((await ask(`${url}/auth/me`, bearer(second.access_token))).status).to.equal(401);
      expect((await refresh(url, second.refresh_token)).status).to.equal(401);
    }
  });

  it("return 503 on the replica that has lost Redis, and refresh the session on the other replica (ISS-17, REF-17)", async () => {
    await using a = await replica();
    await using b = await replica();
    const pair = await a.issuer.issuePair(ada);
    a.redis.disconnect();
    const refused = await refresh(a.url, pair.refresh_token);
    expect([refused.status, refused.body["detail"]]).to.eql([
      503,
      "the revocation store is not answering; retry shortly",
    ]);
    const out = await ask(`${a.url}/auth/logout`, { method: "POST", ...bearer(pair.access_token) });
    expect(out.status).to.equal(503);
    expect((await refresh(b.url, pair.refresh_token)).status).to.equal(200);
  });
});

// The issuers use the real clock here, so the verifiers in `serve()` must use it too. It cannot be moved forward.
const clock = Object.assign(() => Date.now(), { forward: () => undefined });
