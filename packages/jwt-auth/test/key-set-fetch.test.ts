import { collectingLogger, rejection, until } from "@svc/test-support";
import { once } from "node:events";
import { connect } from "node:net";
import { pipeline } from "node:stream";
import { mock } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { createKeySetSource, type KeySetOptions } from "@svc/jwt-auth";
import { expect } from "chai";
import { type Answer, failing, issuer, jwkOf, readinessOf } from "./support/issuer.ts";

const ES = "ES256";
const MIB = 1024 * 1024;

function sourceOf(url: string, options: Partial<KeySetOptions> = {}): ReturnType<typeof createKeySetSource> {
  return createKeySetSource({ url, env: "local", algorithms: ["ES256"], random: () => 0, ...options });
}

/**
 * Returns the reason for which a fetch fails if the endpoint responds with `answer`. Waits for `cut` before it stops
 * the endpoint.
 */
async function reasonOf(
  answer: Answer,
  options: Partial<KeySetOptions> = {},
  cut?: Promise<void>,
): Promise<string> {
  await using keys = await issuer();
  keys.answer(answer);
  using source = sourceOf(keys.url, { attempts: 1, ...options });
  const { reason } = await rejection(source.refresh("p256", ES));
  expect((await readinessOf(source)).meta).to.deep.equal({ lastFailure: reason });
  // Wait while the endpoint still runs, because it closes all connections when it stops.
  await cut;
  return String(reason);
}

describe("the fetch of a key set", () => {
  for (const status of [429, 500, 502, 503, 504, 599]) {
    it(`retries after ${status} (KEY-7)`, async () => {
      await using keys = await issuer(jwkOf("p256"));
      using source = sourceOf(keys.url);
      keys.answer((req, res) => {
        keys.publish(jwkOf("p256"));
        failing(status)(req, res);
      });
      expect(await source.refresh("p256", ES)).not.to.equal(undefined);
      expect(keys.requests).to.equal(2);
    });
  }

  for (const status of [204, 301, 302, 307, 400, 401, 403, 404, 410]) {
    it(`does not retry after ${status} (KEY-7)`, async () => {
      await using keys = await issuer();
      keys.answer(failing(status, status === 302 ? { location: keys.url } : {}));
      using source = sourceOf(keys.url);
      await rejection(source.refresh("p256", ES));
      expect(keys.requests).to.equal(1);
    });
  }

  it("retries after the connection broke before or during the response (KEY-7)", async () => {
    const breaks: readonly Answer[] = [
      (req) => req.socket.destroy(),
      (req, res) => {
        res.writeHead(200, { "content-length": "500" });
        res.write('{"keys":[', () => req.socket.destroy());
      },
    ];
    for (const answer of breaks) {
      await using keys = await issuer();
      using source = sourceOf(keys.url);
      keys.answer((req, res) => {
        keys.publish(jwkOf("p256"));
        answer(req, res);
      });
      expect(await source.refresh("p256", ES)).not.to.equal(undefined);
      expect(keys.requests).to.equal(2);
    }
  });

  it("makes all its attempts when no server listens (KEY-7)", async () => {
    // Use the local port of an open connection, because no server can listen on it.
    await using other = await issuer();
    const held = connect(Number(new URL(other.url).port), "127.0.0.1");
    await once(held, "connect");
    let tries = 0;
    const counting: typeof fetch = (input, init) => {
      tries += 1;
      return fetch(input, init);
    };
    const url = `http://127.0.0.1:${held.localPort}/jwks.json`;
    using source = sourceOf(url, { attempts: 3, fetch: counting });
    expect((await rejection(source.refresh("p256", ES))).message).to.equal(
      "the key set could not be fetched: network error (ECONNREFUSED)",
    );
    expect(tries).to.equal(3);
    held.destroy();
  });

  describe("with an injected clock", () => {
    let clock = 0;
    // The pause between two attempts still takes real time, because its timer is not mocked.
    beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
    afterEach(() => mock.timers.reset());

    /** Advances the clock and the timers of the source, and runs all resulting callbacks. */
    async function pass(ms: number): Promise<void> {
      clock += ms;
      mock.timers.tick(ms);
      for (let turns = 0; turns < 10; turns++) await turn();
    }

    /** Returns a `fetch` that hangs for the first attempts and returns the key set for the later ones. */
    function hangingFirst(hanging: number): {
      readonly fetch: typeof fetch;
      readonly signals: AbortSignal[];
    } {
      const signals: AbortSignal[] = [];
      return {
        signals,
        fetch: (_url, { signal } = {}) => {
          signals.push(signal as AbortSignal);
          return signals.length <= hanging
            ? new Promise(() => undefined)
            : Promise.resolve(Response.json({ keys: [jwkOf("p256")] }));
        },
      };
    }

    it("aborts the first attempt at its share of the deadline, and retries (KEY-8)", async () => {
      const { fetch, signals } = hangingFirst(1);
      using source = sourceOf("http://127.0.0.1:9/", { fetch, timeoutSeconds: 4, now: () => clock });
      const refreshed = source.refresh("p256", ES);
      await pass(1999);
      expect(signals.map(({ aborted }) => aborted)).to.deep.equal([false]);
      await pass(1);
      expect(signals.map(({ aborted }) => aborted)).to.deep.equal([true]);
      expect(await refreshed).not.to.equal(undefined);
      expect(signals).to.have.lengthOf(2);
    });

    it("fetches keys again at their maximum age even if the timer fires slightly early", async () => {
      for (let early = 0.2; early < 3; early += 0.2) {
        const { fetch, signals } = hangingFirst(0);
        let stepMs = 0;
        const now = (): number => (clock += stepMs);
        const options = { fetch, now, maxAgeSeconds: 1, random: () => 0.5 };
        using source = sourceOf("http://127.0.0.1:9/", options);
        await source.refresh("p256", ES);
        // The timer fires after 1,000 ms, but the clock shows that less time has passed.
        clock -= early;
        stepMs = 0.3;
        await pass(1000);
        await pass(20);
        await pass(20);
        expect(signals, `${early} ms early`).to.have.lengthOf(2);
      }
    });

    it("fails at the overall deadline when every attempt hangs (KEY-6, KEY-8)", async () => {
      const { fetch, signals } = hangingFirst(Infinity);
      const options = { fetch, timeoutSeconds: 2, attempts: 2, now: () => clock };
      using source = sourceOf("http://127.0.0.1:9/", options);
      let message: string | undefined;
      void rejection(source.refresh("p256", ES)).then((error) => (message = error.message));
      await pass(1000);
      await until("the second attempt starts", () => signals.length === 2);
      await pass(999);
      expect(message).to.equal(undefined);
      await pass(1);
      expect(message).to.match(/no complete answer within 2 s$/);
      expect(signals).to.have.lengthOf(2);
    });
  });

  it("waits 0.2 to 1.0 s before a retry, with full jitter (KEY-8)", async () => {
    for (const [random, least, most] of [
      [0, 200, 1000],
      [0.75, 800, 5000],
    ] as const) {
      await using keys = await issuer();
      const arrivals: number[] = [];
      keys.answer((req, res) => {
        arrivals.push(performance.now());
        failing()(req, res);
      });
      using source = sourceOf(keys.url, { random: () => random, timeoutSeconds: 20 });
      await rejection(source.refresh("p256", ES));
      const [first = 0, second = 0] = arrivals;
      // Check only the lower bound closely, because a busy machine may retry much later.
      expect(second - first).to.be.within(least - 5, most + 15_000);
    }
  });

  it("respects a Retry-After within the deadline, and ignores a longer delay (KEY-6, KEY-8)", async () => {
    const pause = async (seconds: string): Promise<number> => {
      await using keys = await issuer();
      const arrivals: number[] = [];
      keys.answer((req, res) => {
        arrivals.push(performance.now());
        failing(503, { "retry-after": seconds })(req, res);
      });
      using source = sourceOf(keys.url, { timeoutSeconds: 30 });
      await rejection(source.refresh("p256", ES));
      const [first = 0, second = 0] = arrivals;
      return second - first;
    };
    expect(await pause("1")).to.be.at.least(995);
    expect(await pause("86400")).to.be.within(195, 15_000);
    expect(await pause("soon")).to.be.within(195, 15_000);
  });

  it("does not start another attempt when no time is left (KEY-6)", async () => {
    let tries = 0;
    // Responds immediately, so that an event-loop stall cannot make the attempt time out.
    const refusing: typeof fetch = () => {
      tries += 1;
      return Promise.resolve(new Response("<html>no keys here</html>", { status: 503 }));
    };
    const options = { fetch: refusing, timeoutSeconds: 0.9, random: () => 0.999 };
    using source = sourceOf("http://127.0.0.1:9/", options);
    expect((await rejection(source.refresh("p256", ES))).message).to.include("answered 503");
    expect(tries).to.equal(1);
  });

  it("fails at the deadline when the endpoint hangs, and closes the connection (KEY-6)", async () => {
    const cut = Promise.withResolvers<void>();
    // The timeout is long enough for the request to arrive; otherwise there would be no connection to close.
    const reason = await reasonOf(
      (_req, res) => void res.once("close", cut.resolve),
      { timeoutSeconds: 2 },
      cut.promise,
    );
    expect(reason).to.equal("no complete answer within 2 s");
  });

  it("fails at the deadline when the body arrives slowly, and closes the connection (KEY-6)", async () => {
    const cut = Promise.withResolvers<void>();
    const reason = await reasonOf(
      (_req, res) => {
        res.writeHead(200, { "content-type": "application/json" });
        const drip = setInterval(() => res.write(" "), 5);
        res.once("close", () => {
          clearInterval(drip);
          cut.resolve();
        });
      },
      { timeoutSeconds: 2 },
      cut.promise,
    );
    expect(reason).to.equal("no complete answer within 2 s");
  });

  it("fails at the deadline when fetch ignores its signal (KEY-6)", async () => {
    using source = sourceOf("http://127.0.0.1:9/", {
      timeoutSeconds: 0.1,
      fetch: () => new Promise(() => undefined),
    });
    expect((await rejection(source.refresh("p256", ES))).message).to.include("no complete answer");
  });

  it("fails after 1 MiB of a 64 MiB body, and closes the connection (KEY-13)", async () => {
    let sent = 0;
    const cut = Promise.withResolvers<void>();
    const endless: Answer = (_req, res) => {
      res.writeHead(200, { "content-type": "application/json" });
      res.once("close", cut.resolve);
      const chunks = function* (): Generator<Buffer> {
        for (const chunk = Buffer.alloc(64 * 1024, " "); sent < 64 * MIB; sent += chunk.length) yield chunk;
      };
      pipeline(chunks(), res, () => undefined);
    };
    expect(await reasonOf(endless, {}, cut.promise)).to.equal("the response is larger than 1 MiB");
    // Allow more than 1 MiB, because the socket buffers hold part of what the server has sent.
    expect(sent).to.be.below(32 * MIB);
  });

  it("does not read a body whose Content-Length is too large (KEY-13)", async () => {
    const cut = Promise.withResolvers<void>();
    const announcing: Answer = (_req, res) => {
      res.writeHead(200, { "content-length": `${64 * MIB}` });
      res.once("close", cut.resolve);
      res.write("{");
    };
    expect(await reasonOf(announcing, {}, cut.promise)).to.equal("the response is larger than 1 MiB");
  });

  it("applies the 1 MiB limit to the decompressed body (KEY-13)", async () => {
    const packed = gzipSync(Buffer.alloc(64 * MIB, " "));
    expect(packed.length).to.be.below(MIB);
    const reason = await reasonOf((_req, res) => {
      res.writeHead(200, { "content-encoding": "gzip" });
      res.end(packed);
    });
    expect(reason).to.equal("the response is larger than 1 MiB");
  });

  it("accepts exactly 1 MiB, and refuses one byte more (KEY-13)", async () => {
    await using keys = await issuer();
    const body = JSON.stringify({ keys: [jwkOf("p256")] }).padEnd(MIB, " ");
    keys.answer((_req, res) => res.end(body));
    using source = sourceOf(keys.url);
    expect(await source.refresh("p256", ES)).not.to.equal(undefined);
    keys.answer((_req, res) => res.end(`${body} `));
    expect((await rejection(source.refresh("another", ES))).message).to.include("larger than 1 MiB");
  });

  it("rejects a redirect instead of following it", async () => {
    await using elsewhere = await issuer(jwkOf("p256"));
    for (const status of [301, 302, 303, 307, 308]) {
      const answer = failing(status, { location: elsewhere.url });
      expect(await reasonOf(answer)).to.equal(
        `the endpoint returned a redirect (${status}), which is not followed`,
      );
    }
    expect(elsewhere.requests).to.equal(0);
  });

  it("reports why a response is not a key set", async () => {
    const body =
      (text: string | Buffer): Answer =>
      (_req, res) =>
        res.end(text);
    const cases: readonly (readonly [string | Buffer, string])[] = [
      ["<!doctype html><title>Sign in</title>", "the response is not JSON"],
      ["", "the response is not JSON"],
      ['{"keys":[', "the response is not JSON"],
      [Buffer.from([0x22, 0xff, 0x22]), "the response is not JSON"],
      ["null", "the response is not a key set"],
      ["[]", "the response is not a key set"],
      ['"keys"', "the response is not a key set"],
      ['{"keys":{}}', "the response is not a key set"],
      ['{"key":[]}', "the response is not a key set"],
      ['{"keys":[]}', "the key set has no usable key"],
      ['{"keys":[null,1,"x",[],{}]}', "the key set has no usable key"],
    ];
    for (const [text, reason] of cases) expect(await reasonOf(body(text))).to.equal(reason);
  });

  it("fails without showing the URL's query or the endpoint's response in the error, the check or the log", async () => {
    const logger = collectingLogger();
    await using keys = await issuer();
    keys.answer((_req, res) => {
      res.statusCode = 500;
      res.statusMessage = "hush";
      res.end("hush");
    });
    using source = sourceOf(`${keys.url}?key=hush#hush`, { logger, attempts: 1 });
    const error = await rejection(source.refresh("p256", ES));
    const shown = [
      String(error.stack),
      JSON.stringify(error),
      JSON.stringify(await readinessOf(source)),
      ...logger.texts,
    ];
    expect(logger.texts).to.have.length(1);
    expect(shown.join("\n")).not.to.include("hush");
  });

  it("requests JSON without sending credentials", async () => {
    await using keys = await issuer();
    const seen: object[] = [];
    keys.answer((req, res) => {
      seen.push(req.headers);
      res.end(JSON.stringify({ keys: [jwkOf("p256")] }));
    });
    using source = sourceOf(keys.url);
    await source.refresh("p256", ES);
    expect(seen[0]).to.include({ accept: "application/jwk-set+json, application/json" });
    expect(seen[0]).not.to.have.any.keys("cookie", "authorization");
  });
});
