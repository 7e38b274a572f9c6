import { createHmac } from "node:crypto";
import { gzipSync } from "node:zlib";
import { runSample, type RunningSample } from "@svc/test-support";
import { expect } from "chai";

// Runs the webhook samples of @svc/json-body in createService(), with unchanged handlers.
const readme = new URL("../../json-body/README.md", import.meta.url);
const SECRET = "whsec_a-test-secret";

type Headers = Readonly<Record<string, string>>;

const mac = (secret: string, ...parts: readonly string[]): string =>
  createHmac("sha256", secret).update(parts.join("")).digest("hex");
const now = (): string => String(Math.floor(Date.now() / 1000));

interface Provider {
  readonly name: string;
  readonly index: number;
  readonly variable: string;
  readonly path: string;
  readonly type: string;
  readonly body: string;
  readonly answer: object;
  /** The options under which the sample runs. */
  readonly options: readonly ("rawBodyPaths" | "streamBodyPaths")[];
  readonly sign: (body: string, secret?: string) => Headers;
}

const providers: readonly Provider[] = [
  {
    name: "Stripe",
    index: 4,
    variable: "STRIPE_WEBHOOK_SECRET",
    path: "/webhooks/stripe",
    type: "application/json",
    // Parsing and serializing this body again would change its bytes.
    body: '{\n  "id": "evt_1", "type": "charge.succeeded", "amount": 1.0, "name": "\\u00e9"\n}',
    answer: { received: "charge.succeeded" },
    options: ["rawBodyPaths", "streamBodyPaths"],
    sign(body, secret = SECRET) {
      const timestamp = now();
      return { "Stripe-Signature": `t=${timestamp},v1=${mac(secret, timestamp, ".", body)}` };
    },
  },
  {
    name: "GitHub",
    index: 5,
    variable: "GITHUB_WEBHOOK_SECRET",
    path: "/webhooks/github",
    type: "application/json",
    body: '{"action":"opened",  "number":1.0}',
    answer: { received: "opened" },
    // The sample reads the body itself, with jsonBody({ verify }).
    options: ["streamBodyPaths"],
    sign: (body, secret = SECRET) => ({ "X-Hub-Signature-256": `sha256=${mac(secret, body)}` }),
  },
  {
    name: "Slack",
    index: 6,
    variable: "SLACK_SIGNING_SECRET",
    path: "/webhooks/slack",
    type: "application/x-www-form-urlencoded",
    body: "token=x&command=%2Fweather&text=94070+now",
    answer: { text: "got /weather" },
    options: ["rawBodyPaths", "streamBodyPaths"],
    sign(body, secret = SECRET) {
      const timestamp = now();
      return {
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": `v0=${mac(secret, "v0:", timestamp, ":", body)}`,
      };
    },
  },
];

/** Returns replacements that move the routes of a sample into createService(). */
function inService(major: string, option: string): Readonly<Record<string, string>> {
  const settings = `[service]\\nname = "hooks"\\n[logging]\\nlevel = "SILENT"`;
  return {
    'import express from "express";': `import express from "${major}";\nimport { createService } from "@svc/express";`,
    "const app = express();": "const routes = (app) => {",
    "app.use(jsonBody());\n": "",
    "app.use(problemHandler());\napp.listen(8000);":
      `};\nconst config = { toml: '${settings}' };\n` +
      `const app = express();\nconst ${option} = ["/webhooks"];\n` +
      `await (await createService({ config, env: {}, app, routes, ${option} })).start();`,
  };
}

for (const major of ["express", "express4"]) {
  for (const { name, index, variable, path, type, body, answer, options, sign } of providers) {
    for (const option of options) {
      describe(`the webhook sample for ${name} in createService({ ${option} }) on ${major}`, function () {
        this.timeout(30_000);
        let sample: RunningSample;
        let url: string;

        before(async () => {
          const env = { [variable]: SECRET };
          sample = await runSample(readme, index, { env, replace: inService(major, option) });
          url = await sample.url;
        });
        after(async () => sample[Symbol.asyncDispose]());

        async function send(bytes: string | Buffer, headers: Headers, to = path): Promise<[number, unknown]> {
          const answered = await fetch(url + to, {
            method: "POST",
            body: Buffer.from(bytes) as Buffer<ArrayBuffer>,
            headers: { "Content-Type": type, ...headers },
          });
          return [answered.status, await answered.json()];
        }

        it("accepts the signature of the bytes as sent, and no other", async () => {
          expect(await send(body, sign(body))).to.deep.equal([200, answer]);
          expect((await send(body, sign(body, "another secret")))[0]).to.equal(403);
          expect((await send(body, {}))[0]).to.equal(403);
          expect((await send(`${body} `, sign(body)))[0]).to.equal(403);
          expect((await send(body.replace(/\s|\+/, ""), sign(body)))[0]).to.equal(403);
        });

        it("LIM-1 ERR-18 rejects a body over the limit of the service, and a compressed body that is not signed", async () => {
          const large = "x".repeat(2 * 1024 * 1024 + 1);
          expect((await send(large, sign(large)))[0]).to.equal(413);
          const status = name === "GitHub" ? 403 : 415;
          const packed = gzipSync(body);
          expect((await send(packed, { ...sign(body), "Content-Encoding": "gzip" }))[0]).to.equal(status);
        });

        it("parses JSON on another route", async () => {
          const json = { "Content-Type": "application/json" };
          expect(await send('{"a":1}', json, "/orders")).to.deep.equal([200, { got: { a: 1 } }]);
          expect((await send("{", json, "/orders"))[0]).to.equal(400);
        });
      });
    }
  }
}
