import { createHmac } from "node:crypto";
import { gzipSync } from "node:zlib";
import { runSample, type RunningSample } from "@svc/test-support";
import { expect } from "chai";
import { type Answer, post } from "./support/stacks.ts";

// These tests sign requests with their own code, as the providers document it, and run the samples of the README on both
// majors.
const readme = new URL("../README.md", import.meta.url);
const SECRET = "whsec_a-test-secret";
const FORM = "application/x-www-form-urlencoded";

type Headers = Readonly<Record<string, string>>;

const mac = (secret: string, ...parts: (string | Buffer)[]): string =>
  createHmac("sha256", secret)
    .update(Buffer.concat(parts.map((part) => Buffer.from(part))))
    .digest("hex");

/** Returns a Unix time in seconds, as text. */
const secondsFromNow = (seconds: number): string => String(Math.floor(Date.now() / 1_000) + seconds);

interface Provider {
  readonly name: string;
  readonly index: number;
  readonly variable: string;
  readonly path: string;
  readonly type: string;
  readonly body: string;
  readonly answer: object;
  readonly detail: string;
  /** Status of a compressed body, whose bytes as sent are signed. */
  readonly compressed: number;
  readonly maxBytes: number;
  readonly hasTimestamp: boolean;
  readonly signature: string;
  readonly sign: (body: string | Buffer, secret?: string, timestamp?: string) => Headers;
}

const providers: readonly Provider[] = [
  {
    name: "Stripe",
    index: 4,
    variable: "STRIPE_WEBHOOK_SECRET",
    path: "/webhooks/stripe",
    type: "application/json",
    // Parsing and serializing this body again would change its bytes.
    body: '{\n  "id": "evt_1",\n  "type": "charge.succeeded", "amount": 1.0, "name": "\\u00e9"\n}',
    answer: { received: "charge.succeeded" },
    detail: "the signature is not valid",
    compressed: 415,
    maxBytes: 256 * 1024,
    hasTimestamp: true,
    signature: "Stripe-Signature",
    sign: (body, secret = SECRET, timestamp = secondsFromNow(0)) => ({
      "Stripe-Signature": `t=${timestamp},v1=${mac(secret, timestamp, ".", body)}`,
    }),
  },
  {
    name: "GitHub",
    index: 5,
    variable: "GITHUB_WEBHOOK_SECRET",
    path: "/webhooks/github",
    type: "application/json",
    body: '{"action":"opened",  "number":1.0}',
    answer: { received: "opened" },
    detail: "the body could not be verified",
    compressed: 200,
    maxBytes: 25 * 1024 * 1024,
    hasTimestamp: false,
    signature: "X-Hub-Signature-256",
    sign: (body, secret = SECRET) => ({ "X-Hub-Signature-256": `sha256=${mac(secret, body)}` }),
  },
  {
    name: "Slack",
    index: 6,
    variable: "SLACK_SIGNING_SECRET",
    path: "/webhooks/slack",
    type: FORM,
    body: "token=x&team_id=T1&command=%2Fweather&text=94070+now",
    answer: { text: "got /weather" },
    detail: "the signature is not valid",
    compressed: 415,
    maxBytes: 256 * 1024,
    hasTimestamp: true,
    signature: "X-Slack-Signature",
    sign: (body, secret = SECRET, timestamp = secondsFromNow(0)) => ({
      "X-Slack-Request-Timestamp": timestamp,
      "X-Slack-Signature": `v0=${mac(secret, "v0:", timestamp, ":", body)}`,
    }),
  },
];

const slackCommand =
  "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V" +
  "&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=" +
  "&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
  "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";

describe("the signatures of these tests", () => {
  it("equal the examples that GitHub and Slack publish", () => {
    expect(mac("It's a Secret to Everybody", "Hello, World!")).to.equal(
      "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    );
    expect(mac("8f742231b10e8888abcd99yyyzzz85a5", `v0:1531420618:${slackCommand}`)).to.equal(
      "a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    );
  });
});

// The secret, the timestamp and the command are the example that Slack publishes; the event is the example of its page about
// url_verification, signed with OpenSSL.
const slackSecret = "8f742231b10e8888abcd99yyyzzz85a5";
const slackVectors = [
  {
    path: "/webhooks/slack",
    type: FORM,
    body: slackCommand,
    signature: "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    answer: { text: "got /webhook-collect" },
  },
  {
    path: "/webhooks/slack/events",
    type: "application/json",
    body: '{"token":"Jhj5dZrVaK7ZwHHjRyZWjbDl","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkOFUO7tYXAYM8P","type":"url_verification"}',
    signature: "v0=78542ce345f36225aaa47d9005dc197e402e20490aca0959a7bbc2c67862d693",
    answer: { challenge: "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkOFUO7tYXAYM8P" },
  },
];

for (const major of ["express", "express4"]) {
  describe(`the webhook sample for Slack on ${major}, at the time of the published example`, () => {
    let sample: RunningSample;

    before(async () => {
      sample = await runSample(readme, 6, {
        env: { SLACK_SIGNING_SECRET: slackSecret },
        replace: { 'from "express"': `from "${major}"`, "Date.now()": "1531420618000" },
      });
    });
    after(async () => sample[Symbol.asyncDispose]());

    for (const { path, type, body, signature, answer } of slackVectors) {
      it(`accepts the published signature at ${path}, and refuses it for another body`, async () => {
        const headers = {
          "Content-Type": type,
          "X-Slack-Request-Timestamp": "1531420618",
          "X-Slack-Signature": signature,
        };
        const url = `${await sample.url}${path}`;
        const { status, body: got } = await post(url, body, headers);
        expect([status, got]).to.deep.equal([200, answer]);
        expect((await post(url, `${body} `, headers)).status).to.equal(403);
        const unsigned = { ...headers, "X-Slack-Signature": "v0=" };
        expect((await post(url, body, unsigned)).status).to.equal(403);
      });
    }
  });

  for (const provider of providers) {
    const {
      name,
      index,
      variable,
      path,
      type,
      body,
      answer,
      detail,
      compressed,
      maxBytes,
      hasTimestamp,
      signature,
      sign,
    } = provider;
    describe(`the webhook sample for ${name} on ${major}`, () => {
      let sample: RunningSample;
      let url: string;

      before(async () => {
        sample = await runSample(readme, index, {
          env: { [variable]: SECRET },
          replace: { 'from "express"': `from "${major}"` },
        });
        url = await sample.url;
      });
      after(async () => sample[Symbol.asyncDispose]());

      const send = (bytes: string | Buffer, headers: Headers, contentType = type): Promise<Answer> =>
        post(`${url}${path}`, Buffer.from(bytes) as Buffer<ArrayBuffer>, {
          "Content-Type": contentType,
          ...headers,
        });

      const expectRefusal = (got: Answer, what: string): void => {
        expect([got.status, got.body.detail], what).to.deep.equal([403, detail]);
      };

      it("accepts a request with a valid signature", async () => {
        const { status, body: got } = await send(body, sign(body));
        expect([status, got]).to.deep.equal([200, answer]);
      });

      it("refuses a signature with another secret, and a missing signature", async () => {
        expectRefusal(await send(body, sign(body, "another secret")), "another secret");
        expectRefusal(await send(body, {}), "no signature");
        const { [signature]: removed, ...others } = sign(body);
        expectRefusal(await send(body, others), `without ${String(removed?.slice(0, 3))}`);
      });

      it("refuses a body with one altered, added or removed byte", async () => {
        const altered = Buffer.from(body);
        altered[5] = (altered[5] ?? 0) ^ 1;
        for (const bytes of [altered, `${body} `, ` ${body}`, body.slice(0, -1), body.replace(/\s/, "")])
          if (!Buffer.from(body).equals(Buffer.from(bytes)))
            expectRefusal(await send(bytes, sign(body)), String(bytes));
      });

      it("refuses malformed signatures", async () => {
        const valid = sign(body)[signature] ?? "";
        for (const value of ["", "x", ",", "=", "t=,v1=", valid.slice(0, -1), `${valid}0`])
          expectRefusal(await send(body, { ...sign(body), [signature]: value }), value);
        expectRefusal(await send(body, { ...sign(body), [signature]: `${valid}é`.slice(-64) }), "non-ASCII");
      });

      it("refuses a request without a body", async () => {
        expect((await post(`${url}${path}`, undefined, sign(body))).status).to.equal(403);
      });

      it(`ERR-18 responds to a compressed body, whose bytes as sent are signed, with ${compressed}`, async () => {
        const packed = gzipSync(body);
        const { status } = await send(packed, { ...sign(packed), "Content-Encoding": "gzip" });
        expect(status).to.equal(compressed);
      });

      it("LIM-1 refuses a body over the limit with 413", async () => {
        const large = "x".repeat(maxBytes + 1);
        expect((await send(large, sign(large))).status).to.equal(413);
      });

      it("parses JSON on another route, without a signature", async () => {
        expect((await post(`${url}/orders`, '{"a":1}')).body).to.deep.equal({ got: { a: 1 } });
        expect((await post(`${url}/orders`, "{")).status).to.equal(400);
      });

      if (hasTimestamp)
        it("refuses a timestamp that is old, in the future, missing or not a number, even if it is signed", async () => {
          for (const timestamp of [secondsFromNow(-3_600), secondsFromNow(3_600), "", "now", "Infinity", "0"])
            expectRefusal(await send(body, sign(body, SECRET, timestamp)), timestamp);
        });

      it("does not start without a secret", async () => {
        await using none = await runSample(readme, index, { env: { [variable]: "" } });
        const { code, stderr } = await none.ended;
        expect([code, stderr.includes(`${variable} is not set`)]).to.deep.equal([1, true]);
      });

      if (name === "Stripe")
        it("accepts one valid signature among several, which Stripe sends while a secret is replaced", async () => {
          const timestamp = secondsFromNow(0);
          const old = mac("old secret", timestamp, ".", body);
          const valid = mac(SECRET, timestamp, ".", body);
          for (const list of [`v1=${old},v1=${valid}`, `v1=${valid},v1=${old}`, `v0=x,v1=${valid}`])
            expect((await send(body, { [signature]: `t=${timestamp},${list}` })).status, list).to.equal(200);
          for (const list of [`v1=${old},v1=${old}`, `v0=${valid}`, `V1=${valid}`, `v1`])
            expectRefusal(await send(body, { [signature]: `t=${timestamp},${list}` }), list);
        });
    });
  }
}
